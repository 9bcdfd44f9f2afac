"""Which failures are transient, how long a server asks to wait, and what the policy makes of both."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.retry import MAX_BACKOFF_MS, classify, parse_retry_after, retry_transient_errors
from lousho_cli.errors import ProviderError, RangeError

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("status", "category", "retryable"),
    [
        (400, "bad-request", False),
        (401, "auth-failure", False),
        (403, "auth-failure", False),
        (404, "bad-request", False),
        (408, "timeout", True),
        (413, "bad-request", False),
        (422, "bad-request", False),
        (429, "rate-limit", True),
        (500, "server", True),
        (503, "overloaded", True),
        (504, "timeout", True),
        (529, "overloaded", True),
        (599, "server", True),
    ],
)
def test_a_status_decides_the_category(status: int, category: str, retryable: bool) -> None:
    failure = classify(status)
    assert (failure.category, failure.retryable) == (category, retryable)


@given(st.integers(500, 599))
def test_every_server_status_is_transient(status: int) -> None:
    assert classify(status).retryable


@pytest.mark.parametrize(
    ("code", "text", "category"),
    [
        ("", "Overloaded", "overloaded"),
        ("overloaded_error", "", "overloaded"),
        ("rate_limit_error", "", "rate-limit"),
        ("", "Rate-Limit reached", "rate-limit"),
        ("", "too many requests", "rate-limit"),
        ("502", "bad gateway", "server"),
        ("429", "", "rate-limit"),
        ("", "got a 500 from upstream", "server"),
        ("server_error", "", "server"),
        ("", "Service Unavailable", "overloaded"),
        ("", "network error", "network"),
        ("", "connection reset by peer", "network"),
        ("", "connection was lost", "network"),
        ("", "socket hang up", "network"),
        ("", "fetch failed", "network"),
        ("", "terminated", "network"),
        ("", "the upstream timed out", "timeout"),
        ("", "timeout of 60 s", "timeout"),
        ("error", "the model ended with an error", "server"),
    ],
)
def test_without_a_status_code_and_text_decide(code: str, text: str, category: str) -> None:
    failure = classify(None, code, text)
    assert (failure.category, failure.retryable) == (category, True)


@pytest.mark.parametrize(
    ("status", "code", "text", "category"),
    [
        (None, "", "this model allows 250000 tokens", "unknown"),
        (None, "", "id 5001 and file 14290", "unknown"),
        (None, "", "determinated", "unknown"),
        (400, "", "the word overloaded in a prompt that was refused", "bad-request"),
        (400, "context_length_exceeded", "", "context-length-exceeded"),
        (400, "invalid_request_error", "This model's maximum context length is 128000 tokens", "context-length-exceeded"),
        (500, "", "the request exceeds the available context size: context length 4096", "context-length-exceeded"),
        (429, "insufficient_quota", "", "rate-limit"),
        (None, "error_quota", "", "rate-limit"),
        (400, "content_filter", "", "refused"),
        (None, "", "Incorrect API key provided", "auth-failure"),
        (None, "invalid_request_error", "no such field", "bad-request"),
    ],
)
def test_ds_134_numbers_in_texts_and_what_never_passes_are_not_transient(status: int | None, code: str, text: str, category: str) -> None:
    failure = classify(status, code, text)
    assert (failure.category, failure.retryable) == (category, False)


def test_a_rate_limit_that_speaks_of_context_is_still_a_rate_limit() -> None:
    assert classify(429, "", "too many tokens for this context window, per minute").retryable


def test_case_118_a_call_the_model_wrote_badly_is_worth_another_try() -> None:
    assert classify(400, "tool_use_failed invalid_request_error", "Failed to call a function.").retryable


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "2"}, 2000),
        ({"Retry-After": " 2 "}, 2000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "86400"}, 86_400_000),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1500),
        ({"Retry-After-Ms": "1500.2"}, 1501),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3000),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Wed, 99 Foo 2023 25:61:00 GMT"}, None),
        ({}, None),
    ],
)
def test_case_113_retry_after_values(headers: dict[str, str], wait: int | None) -> None:
    assert parse_retry_after(headers, NOW) == wait


@pytest.mark.parametrize("zone", ["GMT", "+0000"])
def test_case_112_a_date_is_a_distance_rounded_up(zone: str) -> None:
    date = formatdate(NOW / 1000 + 3, usegmt=True).replace("GMT", zone)
    assert parse_retry_after({"retry-after": date}, NOW) == 3000
    assert parse_retry_after({"retry-after": date}, NOW + 500) == 3000
    assert parse_retry_after({"retry-after": date}, NOW + 10_000) == 0


@pytest.mark.parametrize("date", ["Tuesday, 14-Nov-23 22:13:23 GMT", "Tue Nov 14 22:13:23 2023"])
def test_case_112_the_old_forms_of_a_date(date: str) -> None:
    assert parse_retry_after({"retry-after": date}, NOW) == 3000


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_it(seconds: str, milliseconds: str) -> None:
    wait = parse_retry_after({"retry-after": seconds, "retry-after-ms": milliseconds}, NOW)
    assert wait is None or wait >= 0


def transient(retry_after_ms: int | None = None) -> ProviderError:
    return ProviderError("overloaded", category="overloaded", retryable=True, retry_after_ms=retry_after_ms)


@pytest.mark.parametrize(("retries", "least", "most"), [(0, 1500, 2000), (1, 3000, 4000), (2, 6000, 8000)])
def test_ds_131_waits_double_and_are_shortened_by_chance(retries: int, least: int, most: int) -> None:
    policy = retry_transient_errors()
    assert policy.decide(transient(), retries, 0.0) == least
    assert policy.decide(transient(), retries, 0.999999) == most


def test_ds_130_three_retries_and_no_more() -> None:
    assert retry_transient_errors().decide(transient(), 3, 0.5) is None
    assert retry_transient_errors(max_retries=0).decide(transient(), 0, 0.5) is None


def test_an_error_that_will_not_pass_is_not_retried() -> None:
    assert retry_transient_errors().decide(ProviderError("no", category="auth-failure"), 0, 0.5) is None


def test_ds_132_the_servers_wait_replaces_ours_up_to_a_limit() -> None:
    policy = retry_transient_errors()
    assert policy.decide(transient(7), 2, 0.5) == 7
    assert policy.decide(transient(0), 2, 0.5) == 0
    assert policy.decide(transient(900_000), 0, 0.5) == 900_000
    assert policy.decide(transient(900_001), 0, 0.5) is None


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_no_wait_is_endless(retries: int, chance: float) -> None:
    wait = retry_transient_errors(max_retries=20_000).decide(transient(), retries, chance)
    assert wait is not None
    assert 1500 <= wait <= MAX_BACKOFF_MS


@pytest.mark.parametrize("bad", [{"max_retries": -1}, {"base_delay_ms": -1}, {"max_retry_after_ms": 1.5}, {"max_retries": True}])
def test_a_setting_out_of_range_names_itself(bad: dict[str, int]) -> None:
    with pytest.raises(RangeError) as caught:
        retry_transient_errors(**bad)
    assert caught.value.field == next(iter(bad))
