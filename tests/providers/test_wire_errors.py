"""Answers that are errors, from their bytes: category, message, wait, and no key in any of it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.failures import classify
from lousho_cli.errors import ProviderError
from lousho_cli.providers.wire.errors import MAX_MESSAGE, error_of, failure_error, refused, stream_error, with_request_id, without_secrets

NOW = 1_700_000_000_000
KEY = "s3cr3t/+key==0123456789"


def answer(status: int, body: Any, **headers: str) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refused(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw, NOW)


GOOGLE = {
    "error": {
        "code": 429,
        "message": "Quota exceeded",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.example/RetryInfo", "retryDelay": "3s"}],
    }
}
GOOGLE_KEY = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "no such key", "details": [{"reason": "API_KEY_INVALID"}]}}
AZURE = {
    "error": {
        "code": None,
        "message": "The prompt was filtered",
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True}}},
    }
}
ROUTER = {
    "error": {
        "message": "Provider returned error",
        "code": 400,
        "metadata": {"raw": '{"error":{"message":"prompt is too long: 9 > 8"}}', "provider_name": "Acme"},
    }
}
FIELDS = {"detail": [{"loc": ["body", "messages", 0], "msg": "Field required", "input": {"messages": ["all that was said"]}}]}


@pytest.mark.parametrize(
    ("status", "body", "category", "retryable", "told"),
    [
        (429, GOOGLE, "rate-limit", True, "Quota exceeded"),
        (429, [GOOGLE], "rate-limit", True, "Quota exceeded"),
        (400, GOOGLE_KEY, "auth-failure", False, "no such key"),
        (400, AZURE, "refused", False, "The prompt was filtered"),
        (404, {"error": {"code": "DeploymentNotFound", "message": "no such deployment"}}, "bad-request", False, "no such deployment"),
        (400, ROUTER, "context-length-exceeded", False, "Provider returned error (Acme: prompt is too long: 9 > 8)"),
        (402, {"error": {"code": 402, "message": "Insufficient credits"}}, "auth-failure", False, "Insufficient credits"),
        (403, {"error": {"message": "flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}}}, "refused", False, "flagged"),
        (503, {"error": {"message": "up", "metadata": {"raw": "one\ntwo", "provider_name": None}}}, "overloaded", True, "up (one)"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded", True, "Overloaded"),
        (404, {"error": "model 'x' not found"}, "bad-request", False, "model 'x' not found"),
        (400, {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "bad-request", False, "bad"),
        (422, FIELDS, "bad-request", False, "body.messages.0: Field required"),
        (522, b"<!DOCTYPE html><html><title>x | 522</title></html>", "timeout", True, "an HTML page instead of JSON"),
        (500, b"", "server", True, "500"),
        (307, b"", "bad-request", False, "redirects"),
    ],
)  # fmt: skip
def test_the_bodies_of_servers(status: int, body: Any, category: str, retryable: bool, told: str) -> None:
    error = answer(status, body)
    assert (error.category, error.retryable) == (category, retryable)
    assert error.detail.endswith(told) or told in error.detail
    assert "all that was said" not in str(error)


@pytest.mark.parametrize(
    ("status", "body", "headers", "wait"),
    [
        (429, GOOGLE, {}, 3000),
        (429, GOOGLE, {"retry_after": "9"}, 9000),
        (429, {}, {"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6ms"}, 6),
        (429, {}, {"x_ratelimit_remaining_tokens": "7", "x_ratelimit_reset_tokens": "6ms"}, None),
        (500, {}, {"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6ms"}, None),
        (503, {}, {"retry_after_ms": "250"}, 250),
        (429, {}, {"retry_after": "-1"}, None),
    ],
)
def test_the_wait_that_is_asked_for(status: int, body: Any, headers: dict[str, str], wait: int | None) -> None:
    assert answer(status, body, **headers).retry_after_ms == wait


def test_case_113_the_time_that_is_asked_for_is_named() -> None:
    assert "86400 s" in answer(429, {}, retry_after="86400").hint
    assert "wait" not in answer(400, {}, retry_after="5").hint, "asking again would not help"


def test_an_error_event_is_classified_by_its_code_and_not_by_being_one() -> None:
    code, message = error_of({"type": "error", "code": "invalid_prompt", "message": "no", "param": None}) or ("", "")
    assert (stream_error(code, message, partial=True).category, message) == ("refused", "no")
    code, message = error_of({"type": "error", "code": "something_new", "message": "no"}) or ("", "")
    assert stream_error(code, message, partial=False).retryable is False


@pytest.mark.parametrize("at", range(150, 204, 7))
def test_a_key_that_was_cut_in_two_is_not_told_in_part(at: int) -> None:
    """Of text that is no message only the beginning is told, and behind it may stand what a server calls the request."""
    text = "x" * at + KEY + "y" * 300
    for body in (text.encode(), {"detail": [text]}, {"error": {"message": "no", "metadata": {"raw": text, "provider_name": "Acme"}}}):
        error = without_secrets(with_request_id(answer(502, body), {"request-id": "req_1"}), (KEY,))
        assert KEY[:5] not in error.detail
        assert error.detail.endswith("(request req_1)")
    told = without_secrets(with_request_id(answer(502, {"error": {"message": "x" * (at + 290) + KEY}}), {"request-id": "req_1"}), (KEY,))
    assert KEY[:5] not in told.detail


def test_a_quota_that_is_used_up_is_not_waited_for() -> None:
    error = answer(400, {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}})
    assert (error.category, error.retryable) == ("rate-limit", False)
    assert "add to it" in error.hint


@pytest.mark.parametrize(
    "said",
    [
        "Incorrect API key provided: sk-abc***xyz. You can find your API key at the dashboard.",
        'Incorrect API key provided: "abcdef0123456".',
        "invalid header: Authorization: Bearer abcdef0123456",
        "no access to /v1/models?key=AIzaSyA0123456789abcdef&alt=sse",
        "API key AIzaSyA0123456789abcdef is not valid",
        "the key gsk_abcdefghij0123456789 was revoked",
    ],
)
def test_what_looks_like_a_key_is_in_no_message(said: str) -> None:
    for error in (answer(401, {"error": {"message": said}}), stream_error("", said, partial=False)):
        assert "[key]" in str(error)
        for piece in ("abc***xyz", "abcdef0123456", "AIzaSyA", "abcdefghij"):
            assert piece not in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "Basic authentication is off",
        "a bearer token",
        "a risk-averse task",
        "the model sk-learn-tuned is unknown",
        "no API key: set one",
        "pk_table is missing",
    ],
)
def test_ordinary_words_stay(said: str) -> None:
    assert said in str(answer(400, {"error": said}))


@pytest.mark.parametrize("form", [KEY, quote(KEY), quote(KEY, safe=""), quote_plus(KEY)])
def test_our_own_key_is_blotted_out_in_every_form(form: str) -> None:
    failure = classify(401)
    error = without_secrets(failure_error(failure, f"refused {form} here"), (KEY,))
    assert str(error).startswith("refused [key] here")
    long = failure_error(failure, "x" * (MAX_MESSAGE - 12) + form)
    assert form[:6] not in str(without_secrets(long, (KEY,)))


NAMES = st.sampled_from(["error", "message", "detail", "code", "type", "details", "metadata", "raw", "innererror", "reason"])
VALUES = st.recursive(
    st.none() | st.text(max_size=6) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
    max_leaves=10,
)


@given(st.binary(max_size=80) | VALUES)
def test_no_body_breaks_it(body: Any) -> None:
    error = answer(500, body)
    assert error.retryable or error.category in ("auth-failure", "refused", "context-length-exceeded", "rate-limit")
    assert len(error.detail) <= MAX_MESSAGE
