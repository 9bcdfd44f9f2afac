"""How long a server asks to wait, in all the forms in which servers say it."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.retry_after import parse_retry_after, rate_limit_reset, wait_in_body

NOW = 1_700_000_000_000


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


@pytest.mark.parametrize(
    ("name", "reset", "wait"),
    [
        ("requests", "1m30s", 90_000),
        ("tokens", "6ms", 6),
        ("tokens", "7.66s", 7660),
        ("requests", "2h0m1.5s", 7_201_500),
        ("requests", "1d", 86_400_000),
        ("requests", "20", 20_000),
        ("requests", str(NOW + 4000), 4000),
        ("requests", str(NOW // 1000 + 5), 5000),
        ("requests", str(NOW - 4000), 0),
        ("requests", "soon", None),
        ("requests", "", None),
        ("requests", "-3s", None),
        ("requests", "9" * 400, None),
    ],
)
def test_a_limit_that_is_used_up_says_when_it_begins_anew(name: str, reset: str, wait: int | None) -> None:
    headers = {f"X-RateLimit-Remaining-{name}": "0", f"x-ratelimit-reset-{name}": reset}
    assert rate_limit_reset(headers, NOW) == wait


def test_a_limit_of_which_something_remains_is_not_waited_for() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "24h",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6s",
    }
    assert rate_limit_reset(headers, NOW) == 6000
    assert rate_limit_reset(headers | {"x-ratelimit-remaining-requests": "0"}, NOW) == 86_400_000, "both are used up"
    assert rate_limit_reset({"x-ratelimit-reset": "10"}, NOW) is None
    assert rate_limit_reset({"X-RateLimit-Reset": "10", "X-RateLimit-Remaining": "0"}, NOW) == 10_000


@pytest.mark.parametrize(
    ("body", "wait"),
    [
        ({"error": {"details": [{"@type": "QuotaFailure"}, {"retryDelay": "3s"}]}}, 3000),
        ([{"error": {"details": [{"retryDelay": "37.5s"}]}}], 37_500),
        ({"error": {"details": [{"retryDelay": "-3s"}, {"retryDelay": 3}, 7]}}, None),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW + 9000)}}}}, 9000),
        ({"error": {"metadata": {"headers": {"Retry-After": 4}}}}, 4000),
        ({"error": "retry in 3s"}, None),
        ({"error": {"details": "x", "metadata": []}}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_wait_in_a_body(body: Any, wait: int | None) -> None:
    assert wait_in_body(body, NOW) == wait


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["error", "details", "retryDelay", "metadata", "headers"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_body_breaks_it(body: Any) -> None:
    wait = wait_in_body(body, NOW)
    assert wait is None or wait >= 0
