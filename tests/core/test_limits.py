"""Budgets: which limit is reached, what follows for the calls that are open, and what a call costs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lousho_cli.core.decide import RunCall, Throw
from lousho_cli.core.limits import Limits, spent
from lousho_cli.domain.prices import Price, priced
from lousho_cli.domain.stops import Spent
from lousho_cli.domain.texts import OVER_BUDGET_TOOL_RESULT
from lousho_cli.domain.usage import CallUsage, Delegated, RunUsage

USED = RunUsage(input_tokens=60, output_tokens=40, total_tokens=100, model_calls=1, cost_usd=0.5)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        (Limits(max_tokens=101), None),
        (Limits(max_tokens=100), Spent("max_tokens", 100, 100)),
        (Limits(max_input_tokens=60, max_output_tokens=41), Spent("max_input_tokens", 60, 60)),
        (Limits(max_output_tokens=40), Spent("max_output_tokens", 40, 40)),
        (Limits(max_cost_usd=0.51), None),
        (Limits(max_cost_usd=0.5), Spent("max_cost_usd", 0.5, 0.5)),
        (Limits(), None),
    ],
)
def test_the_limit_that_is_reached(limits: Limits, reached: Spent | None) -> None:
    assert spent(USED, limits) == reached


def test_what_sub_agents_used_counts() -> None:
    with_inner = msgspec.structs.replace(USED, delegated=Delegated(1, 10, 5, 15, 1, cost_usd=0.1))
    assert spent(with_inner, Limits(max_tokens=115)) == Spent("max_tokens", 115, 115)
    assert spent(with_inner, Limits(max_input_tokens=70)) == Spent("max_input_tokens", 70, 70)
    assert spent(with_inner, Limits(max_cost_usd=0.6)) == Spent("max_cost_usd", 0.6, 0.6)


def test_a_cost_nobody_knows_is_not_let_pass() -> None:
    unknown = msgspec.structs.replace(USED, cost_usd=None)
    assert spent(unknown, Limits(max_cost_usd=99)) == Spent("max_cost_usd", None, 99)
    assert spent(RunUsage(), Limits(max_cost_usd=99)) is None


def test_which_limits_bound() -> None:
    assert not Limits(on_exceeded="throw").bounded
    assert Limits(max_cost_usd=1).bounded


def limited(make_facts: Any, **limits: Any) -> Any:
    return msgspec.structs.replace(make_facts(), limits=Limits(**limits))


def test_a_budget_spent_by_an_answer_with_calls_stops_before_them(world: Any, make_facts: Any) -> None:
    w = world(limited(make_facts, max_tokens=15))
    w.send("go")
    w.answer("plain", "gated")
    session = w.session
    assert (session.status, session.finish_reason, session.outcome) == ("finished", "budget-exceeded", "completed")
    assert session.stop == Spent("max_tokens", 15, 15)
    assert w.starts.total() == 0
    assert [OVER_BUDGET_TOOL_RESULT in m.text for m in session.messages if m.role == "tool"] == [True, True]


def test_an_answer_that_spends_the_budget_is_the_answer(world: Any, make_facts: Any) -> None:
    w = world(limited(make_facts, max_tokens=15))
    w.send("go")
    w.answer()
    assert (w.session.finish_reason, w.session.stop) == ("stop", None)


def test_the_calls_of_a_turn_that_has_begun_run(world: Any, make_facts: Any) -> None:
    """Whoever goes on with less money does not take back what was begun; it ends behind it."""
    w = world(make_facts(concurrency=1))
    w.send("go")
    w.answer("plain", "plain")
    w.finish("c2")
    w.agent = limited(make_facts, max_tokens=5)
    w.crash()
    assert [effect.call.id for effect in w.effects if isinstance(effect, RunCall)] == ["c3"]
    w.finish("c3")
    assert w.session.finish_reason == "budget-exceeded"


def test_a_limit_that_throws_leaves_the_calls_open(world: Any, make_facts: Any) -> None:
    w = world(limited(make_facts, max_tokens=15, on_exceeded="throw"))
    w.send("go")
    w.answer("plain")
    assert w.effects == (Throw(Spent("max_tokens", 15, 15)),)
    assert [call.name for call in w.session.pending] == ["plain"]


def test_the_next_message_begins_with_a_budget_of_its_own(world: Any, make_facts: Any) -> None:
    w = world(limited(make_facts, max_tokens=15))
    w.send("go")
    w.answer("plain")
    w.send("again")
    assert (w.session.stop, w.session.outcome) == (None, None)


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [((1_000_000, 0, 0), 2.0), ((0, 500_000, 0), 4.0), ((1_000_000, 0, 400_000), 1.4), ((10, 0, 20), 0.000005)],
)
def test_what_a_call_costs(tokens: tuple[int, int, int], dollars: float) -> None:
    assert Price(2, 8, 0.5).cost_of(*tokens) == pytest.approx(dollars)


def test_cached_input_costs_as_much_where_nothing_else_is_said() -> None:
    assert Price(2, 8).cost_of(1_000_000, 0, 400_000) == 2.0


def test_a_cost_is_added_only_where_it_was_not_reported() -> None:
    price = Price(1, 1)
    reported = CallUsage(10, 5, cost_usd=7.0)
    assert priced(reported, price, (0, 0)) is reported
    assert priced(None, None, (1, 1)) is None
    guessed = priced(None, price, (1_000_000, 1_000_000))
    assert guessed == CallUsage(cost_usd=2.0)
