"""The table of failures: what a status, a code and a text say, of every server we know, and whether asking again may help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.failures import classify

FINAL = {"context-length-exceeded", "refused", "auth-failure", "bad-request", "unknown"}
"""Categories of which asking again is never of use; of a rate limit it is not where the money is used up."""


def of_kind(status: int | None, code: str, text: str) -> str:
    failure = classify(status, code, text)
    if failure.category == "rate-limit":
        return "rate-limit" if failure.retryable else "quota"
    assert failure.retryable == (failure.category not in FINAL)
    return failure.category


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad-request"),
        (401, "auth-failure"),
        (402, "auth-failure"),
        (403, "auth-failure"),
        (404, "bad-request"),
        (405, "bad-request"),
        (407, "auth-failure"),
        (408, "timeout"),
        (409, "server"),
        (413, "context-length-exceeded"),
        (422, "bad-request"),
        (425, "network"),
        (429, "rate-limit"),
        (498, "overloaded"),
        (499, "network"),
        (500, "server"),
        (501, "server"),
        (502, "server"),
        (503, "overloaded"),
        (504, "timeout"),
        (520, "server"),
        (521, "server"),
        (522, "timeout"),
        (523, "network"),
        (524, "timeout"),
        (529, "overloaded"),
        (599, "server"),
        (302, "bad-request"),
    ],
)
def test_a_status_decides_the_category(status: int, kind: str) -> None:
    assert of_kind(status, "", "") == kind


@given(st.integers(500, 599))
def test_ds_197_every_server_status_is_transient(status: int) -> None:
    assert classify(status).retryable


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (429, "", ""),
        (None, "rate_limit_error", ""),
        (529, "overloaded_error", "Overloaded"),
        (None, "overloaded_error", "Overloaded"),
        (None, "", "network error"),
        (None, "", "fetch failed"),
    ],
)
def test_ds_197_rate_limits_overload_and_networks_are_transient(status: int | None, code: str, text: str) -> None:
    assert classify(status, code, text).retryable


SERVERS = {
    "anthropic": [
        (400, "invalid_request_error", "messages: at least one message is required", "bad-request"),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context-length-exceeded"),
        (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000", "context-length-exceeded"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API. Please go to Plans & Billing", "quota"),
        (401, "authentication_error", "invalid x-api-key", "auth-failure"),
        (402, "billing_error", "", "auth-failure"),
        (403, "permission_error", "", "auth-failure"),
        (404, "not_found_error", "model: claude-9", "bad-request"),
        (413, "request_too_large", "Request exceeds the maximum allowed number of bytes", "context-length-exceeded"),
        (429, "rate_limit_error", "", "rate-limit"),
        (500, "api_error", "Internal server error", "server"),
        (504, "timeout_error", "", "timeout"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (None, "overloaded_error", "Overloaded", "overloaded"),
        (None, "api_error", "Internal server error", "server"),
        (None, "timeout_error", "", "timeout"),
        (None, "not_found_error", "", "bad-request"),
    ],
    "openai": [
        (400, "context_length_exceeded invalid_request_error", "", "context-length-exceeded"),
        (400, "invalid_request_error", "This model's maximum context length is 128000 tokens", "context-length-exceeded"),
        (400, "invalid_request_error", "Your input exceeds the context window of this model.", "context-length-exceeded"),
        (400, "string_above_max_length invalid_request_error", "", "context-length-exceeded"),
        (401, "invalid_api_key invalid_request_error", "Incorrect API key provided", "auth-failure"),
        (403, "unsupported_country_region_territory", "", "auth-failure"),
        (404, "model_not_found invalid_request_error", "", "bad-request"),
        (429, "rate_limit_exceeded tokens", "", "rate-limit"),
        (429, "insufficient_quota", "You exceeded your current quota", "quota"),
        (429, "billing_hard_limit_reached", "", "quota"),
        (429, "credit_balance_exhausted", "", "quota"),
        (400, "bio_policy", "", "refused"),
        (None, "misalignment_policy_violation", "", "refused"),
        (None, "data_residency_mismatch", "", "bad-request"),
        (503, "slow_down", "", "overloaded"),
        (503, "server_error", "The engine is currently overloaded", "overloaded"),
        (504, "server_error", "", "timeout"),
        (None, "server_error", "", "server"),
        (None, "rate_limit_exceeded", "", "rate-limit"),
        (None, "invalid_prompt", "Invalid prompt: limited access to this content", "refused"),
        (None, "vector_store_timeout", "", "timeout"),
        (None, "invalid_image_url", "", "bad-request"),
        (None, "image_content_policy_violation", "", "refused"),
        (None, "context_length_exceeded", "", "context-length-exceeded"),
    ],
    "azure": [
        (400, "content_filter ResponsibleAIPolicyViolation", "The response was filtered", "refused"),
        (404, "DeploymentNotFound", "The API deployment for this resource does not exist.", "bad-request"),
        (429, "429", "Requests have exceeded the token rate limit", "rate-limit"),
        (429, "RateLimitReached", "", "rate-limit"),
        (500, "InternalServerError", "", "server"),
    ],
    "google": [
        (429, "429 RESOURCE_EXHAUSTED", "", "rate-limit"),
        (503, "503 UNAVAILABLE", "The model is overloaded.", "overloaded"),
        (400, "400 INVALID_ARGUMENT", "", "bad-request"),
        (400, "400 INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens", "context-length-exceeded"),
        (400, "400 INVALID_ARGUMENT API_KEY_INVALID", "API key not valid.", "auth-failure"),
        (400, "400 FAILED_PRECONDITION", "", "bad-request"),
        (403, "403 PERMISSION_DENIED", "", "auth-failure"),
        (504, "504 DEADLINE_EXCEEDED", "", "timeout"),
        (500, "500 INTERNAL", "", "server"),
        (None, "RESOURCE_EXHAUSTED", "", "rate-limit"),
        (None, "UNAVAILABLE", "", "overloaded"),
        (None, "DEADLINE_EXCEEDED", "", "timeout"),
    ],
    "groq": [
        (400, "tool_use_failed invalid_request_error", "Failed to call a function.", "server"),
        (400, "json_validate_failed invalid_request_error", "", "server"),
        (413, "rate_limit_exceeded tokens", "Request too large for model", "rate-limit"),
        (498, "", "Flex Tier Capacity Exceeded", "overloaded"),
    ],
    "deepseek": [
        (402, "invalid_request_error", "Insufficient Balance", "auth-failure"),
        (422, "", "", "bad-request"),
        (503, "", "", "overloaded"),
    ],
    "openrouter": [
        (402, "402", "Insufficient credits", "auth-failure"),
        (403, "403 moderation", "Input was flagged", "refused"),
        (None, "502", "Provider returned error", "server"),
        (None, "429", "Provider returned error", "rate-limit"),
        (408, "408", "", "timeout"),
    ],
    "local": [
        (400, "400 BadRequestError", "This model's maximum context length is 4096 tokens", "context-length-exceeded"),
        (400, "exceed_context_size_error", "the request exceeds the available context size", "context-length-exceeded"),
        (500, "", "the request exceeds the available context size: context length 4096", "context-length-exceeded"),
        (503, "unavailable_error", "Loading model", "overloaded"),
        (404, "", "model 'x' not found, try pulling it first", "bad-request"),
        (500, "", "llama runner process has terminated", "server"),
    ],
    "words alone": [
        (None, "", "Overloaded", "overloaded"),
        (None, "", "Rate-Limit reached", "rate-limit"),
        (None, "", "too many requests", "rate-limit"),
        (None, "502", "bad gateway", "server"),
        (None, "429", "", "rate-limit"),
        (None, "", "got a 500 from upstream", "server"),
        (None, "", "Service Unavailable", "overloaded"),
        (None, "", "network error", "network"),
        (None, "", "connection reset by peer", "network"),
        (None, "", "connection refused", "network"),
        (None, "", "connection was lost", "network"),
        (None, "", "connection error", "network"),
        (None, "", "socket hang up", "network"),
        (None, "", "fetch failed", "network"),
        (None, "", "terminated", "network"),
        (None, "", "the upstream timed out", "timeout"),
        (None, "", "timeout of 60 s", "timeout"),
        (None, "error", "the model ended with an error", "server"),
        (None, "", "Incorrect API key provided", "auth-failure"),
        (None, "invalid_request_error", "no such field", "bad-request"),
        (None, "", "", "unknown"),
    ],
}


@pytest.mark.parametrize(
    ("status", "code", "text", "kind"),
    [pytest.param(*row, id=f"{server}-{row[0]}-{row[1] or row[2]}") for server, rows in SERVERS.items() for row in rows],
)
def test_the_table(status: int | None, code: str, text: str, kind: str) -> None:
    assert of_kind(status, code, text) == kind


@pytest.mark.parametrize(
    ("status", "code", "text", "kind"),
    [
        (None, "", "this model allows 250000 tokens", "unknown"),
        (None, "", "id 5001 and file 14290", "unknown"),
        (None, "", "determinated", "unknown"),
        (400, "", "the word overloaded in a prompt that was refused", "bad-request"),
        (None, "error_quota", "429: the quota of this key is used up", "quota"),
        (429, "insufficient_quota", "", "quota"),
        (400, "content_filter", "the server timed out, says the text that was filtered", "refused"),
        (None, "context_length_exceeded", "server error", "context-length-exceeded"),
        (None, "invalid_api_key", "server error", "auth-failure"),
        (None, "overloaded_error", "no word of it here", "overloaded"),
    ],
)
def test_ds_134_numbers_in_texts_and_what_never_passes_are_not_transient(status: int | None, code: str, text: str, kind: str) -> None:
    assert of_kind(status, code, text) == kind


def test_a_rate_limit_that_speaks_of_context_is_still_a_rate_limit() -> None:
    assert classify(429, "", "too many tokens for this context window, per minute").retryable


def test_case_118_a_call_the_model_wrote_badly_is_worth_another_try() -> None:
    assert classify(400, "tool_use_failed invalid_request_error", "Failed to call a function.").retryable


@given(st.none() | st.integers(-1, 1000), st.text(max_size=30), st.text(max_size=60))
def test_no_answer_breaks_it(status: int | None, code: str, text: str) -> None:
    of_kind(status, code, text)
