"""Sums of tokens and money: what nobody reported is unknown, and so is each sum that holds it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.domain.prices import Price, priced
from lousho_cli.domain.usage import CallUsage, Delegated, ModelUsage, RunUsage, StepUsage, step_usage

WHOLE = CallUsage(100, 20, 40, 5, 0.5, 10)
PARTS = ("cached_input_tokens", "reasoning_tokens", "cache_write_tokens", "cost_usd")

counts = st.none() | st.integers(0, 99)
calls = st.none() | st.builds(CallUsage, counts, counts, counts, counts, st.none() | st.integers(0, 9).map(float), counts)
steps = st.lists(st.builds(step_usage, st.just(1), st.sampled_from(["a", "b"]), calls, st.just((7, 3))), max_size=6)


def run(*calls: CallUsage | None, model: str = "m") -> RunUsage:
    return RunUsage().plus([step_usage(number, model, call, (8, 2)) for number, call in enumerate(calls, 1)])


def test_a_reported_call_keeps_all_its_parts() -> None:
    step = step_usage(1, "m", WHOLE, (0, 0))
    assert step == StepUsage(1, "m", 100, 20, 120, False, 0.5, 40, 5, 10)
    assert run(WHOLE, WHOLE) == RunUsage(
        200, 40, 240, 2, False, 1.0, 80, 10, {"m": ModelUsage(200, 40, 2, 1.0, 80, 10, 20)}, cache_write_tokens=20
    )


def test_a_call_that_reported_nothing_is_estimated_and_its_parts_are_unknown() -> None:
    step = step_usage(1, "m", None, (8, 2))
    assert (step.total_tokens, step.estimated) == (10, True)
    assert [getattr(step, name) for name in PARTS] == [None] * 4
    assert step_usage(1, "m", CallUsage(100), (8, 2)).estimated, "half of it was not reported"


@pytest.mark.parametrize("part", PARTS)
def test_a_sum_with_an_unknown_part_is_unknown(part: str) -> None:
    without = msgspec.structs.replace(WHOLE, **{part: None})
    total = run(WHOLE, without, WHOLE)
    assert getattr(total, part) is None
    assert getattr(total.by_model["m"], part) is None
    assert all(getattr(total, other) is not None for other in PARTS if other != part)


def test_no_call_is_known_to_have_used_nothing() -> None:
    assert run(WHOLE).cached_input_tokens == 40
    assert run(CallUsage(1, 1, 0, 0, 0.0, 0)).cached_input_tokens == 0, "a reported zero is a zero"


def test_sub_agents_are_counted_apart_and_together() -> None:
    inner = run(WHOLE).delegating(run(WHOLE))
    lead = run(WHOLE).delegating(inner)
    assert lead.input_tokens == 100
    assert lead.delegated == Delegated(2, 200, 40, 240, 2, False, 1.0, 80, 10, 20)
    assert (lead.with_delegated.total_tokens, lead.with_delegated.cost_usd, lead.with_delegated.cached_input_tokens) == (360, 1.5, 120)
    unknown = run(WHOLE).delegating(run(None)).with_delegated
    assert (unknown.estimated, unknown.cost_usd, unknown.cached_input_tokens, unknown.total_tokens) == (True, None, None, 130)


@given(steps.filter(bool), steps, steps)
def test_it_does_not_matter_where_a_run_is_cut(a: Any, b: Any, c: Any) -> None:
    whole = RunUsage().plus([*a, *b, *c])
    assert RunUsage().plus(a).plus(b).plus(c) == whole
    two = RunUsage().plus(a).joined(RunUsage().plus([*b, *c]))
    assert two == whole
    assert RunUsage().joined(whole) == whole == whole.joined(RunUsage())


@given(steps)
def test_what_is_written_is_what_is_read(some: Any) -> None:
    usage = RunUsage().plus(some).delegating(RunUsage().plus(some))
    assert msgspec.json.decode(msgspec.json.encode(usage), type=RunUsage) == usage


def test_what_an_older_version_wrote_is_unknown_where_it_did_not_say() -> None:
    old = msgspec.json.decode(b'{"input_tokens":5,"model_calls":1,"by_model":{"m":{"input_tokens":5,"calls":1}}}', type=RunUsage)
    assert (old.cached_input_tokens, old.by_model["m"].reasoning_tokens, old.plus([step_usage(2, "m", WHOLE, (0, 0))]).cost_usd) == (
        None,
    ) * 3


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [
        ((1_000_000, 0, 400_000, 0), 1.4),
        ((1_000_000, 0, 0, 400_000), 2.2),
        ((1_000_000, 0, 400_000, 400_000), 1.6),
        ((1_000_000, 0, 800_000, 800_000), 0.9),  # no more parts than there are tokens
    ],
)
def test_what_is_read_from_a_cache_or_written_into_one_has_its_own_price(tokens: Any, dollars: float) -> None:
    assert Price(2, 8, 0.5, 2.5).cost_of(*tokens) == pytest.approx(dollars)


def test_a_rate_that_can_not_tell_leaves_a_call_as_it_was() -> None:
    class Nobody:
        def cost_of(self, *tokens: int) -> None:
            return None

    used = CallUsage(10, 5)
    assert priced(used, Nobody(), (0, 0)) is used
    assert priced(None, Nobody(), (1, 1)) is None
