"""What the policy makes of a failed model call."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.retry import MAX_BACKOFF_MS, RetryDecision, retry_transient_errors
from lousho_cli.errors import ProviderError, RangeError


def transient(retry_after_ms: int | None = None, *, partial: bool = False) -> ProviderError:
    return ProviderError("overloaded", category="overloaded", retryable=True, retry_after_ms=retry_after_ms, partial=partial)


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


def test_what_came_of_an_answer_is_kept_only_where_that_was_asked_for() -> None:
    assert retry_transient_errors().decide(transient(partial=True), 0, 0.0) == 1500
    keeps = retry_transient_errors(continue_partial=True)
    assert keeps.decide(transient(partial=True), 0, 0.0) == RetryDecision("continue", 1500)
    assert keeps.decide(transient(), 0, 0.0) == 1500
    assert keeps.decide(transient(900_001, partial=True), 0, 0.0) is None
    assert keeps.decide(transient(partial=True), 3, 0.0) is None


@pytest.mark.parametrize(
    "bad", [{"max_retries": -1}, {"base_delay_ms": -1}, {"max_retry_after_ms": 1.5}, {"max_retries": True}, {"continue_partial": 1}]
)
def test_a_setting_out_of_range_names_itself(bad: dict[str, Any]) -> None:
    with pytest.raises(RangeError) as caught:
        retry_transient_errors(**bad)
    assert caught.value.field == next(iter(bad))
