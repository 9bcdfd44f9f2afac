"""Limits of a run in tokens and money, and what stops at them."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli import Price
from lousho_cli.domain.events import BudgetExceeded
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.stops import Spent
from lousho_cli.domain.texts import OVER_BUDGET_TOOL_RESULT
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import BudgetExceededError, ConfigurationError
from lousho_cli.ports.provider import Answer
from lousho_cli.ports.sessions import read_session

PRICES = {"m-1": Price(1_000, 10_000)}


def calls(*names: str, usage: CallUsage | None = CallUsage(90, 10), model: str = "") -> Answer:
    made = tuple(ToolCall(f"c{number}", name) for number, name in enumerate(names, 1))
    return Answer(Message(role="assistant", tool_calls=made), "tool_calls", usage, model)


@pytest.mark.parametrize(
    ("limit", "budget"),
    [
        ({"max_tokens": 100}, Spent("max_tokens", 100, 100)),
        ({"max_input_tokens": 90}, Spent("max_input_tokens", 90, 90)),
        ({"max_output_tokens": 10}, Spent("max_output_tokens", 10, 10)),
        ({"max_cost_usd": 0.19, "prices": PRICES}, Spent("max_cost_usd", 0.19, 0.19)),
    ],
)
async def test_a_spent_budget_stops_before_the_tools(store: Any, bench: Any, box: Any, limit: Any, budget: Spent) -> None:
    box.tool("book")
    model = bench.Model(calls("book", "book"), "never")
    result = await bench.run(store, model, box.tools, **limit)
    assert (result.finish_reason, result.status, result.outcome) == ("budget-exceeded", "finished", "completed")
    assert (result.budget, box.ran, len(model.asked)) == (budget, [], 1)
    assert [bench.result(result.messages, call_id)["message"] for call_id in ("c1", "c2")] == [OVER_BUDGET_TOOL_RESULT] * 2
    assert (await store.again().saved()).finish_reason == "budget-exceeded"


async def test_just_below_the_limit_goes_on(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    limits = {"max_tokens": 101, "max_input_tokens": 91, "max_output_tokens": 11, "max_cost_usd": 0.191, "prices": PRICES}
    result = await bench.run(store, bench.Model(calls("book"), "done"), box.tools, **limits)
    assert (result.text, result.budget, box.ran) == ("done", None, ["c1"])


async def test_a_reader_of_the_log_sees_the_budget(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    events: list[Any] = []
    await bench.run(log_stores, bench.Model(calls("book")), box.tools, max_tokens=50, on_event=events.append)
    session = await read_session(log_stores.again().log_store, "s")
    assert session.stop == Spent("max_tokens", 100, 50)
    assert [(e.limit, e.value, e.max) for e in events if isinstance(e, BudgetExceeded)] == [("max_tokens", 100, 50)]


async def test_the_next_message_has_a_budget_of_its_own(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    model = bench.Model(calls("book"), "hello")
    await bench.run(store, model, box.tools, max_tokens=100)
    result = await bench.run(store.again(), model, box.tools, "again", max_tokens=100)
    assert (result.text, result.budget) == ("hello", None)


async def test_a_budget_that_throws_keeps_the_calls_for_whoever_goes_on(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    model = bench.Model(calls("book"), "done")
    with pytest.raises(BudgetExceededError) as raised:
        await bench.run(store, model, box.tools, max_tokens=100, on_exceeded="throw")
    error = raised.value
    assert (error.code, error.limit, error.value, error.max) == ("LOUSHO_BUDGET_EXCEEDED", "max_tokens", 100, 100)
    assert (await store.again().saved()).status == "in-progress"
    with pytest.raises(BudgetExceededError):
        await bench.run(store.again(), model, box.tools, [], max_tokens=100, on_exceeded="throw")
    result = await bench.run(store.again(), model, box.tools, [], max_tokens=1000)
    assert (result.text, box.ran, len(model.asked)) == ("done", ["c1"], 2)


# Money


async def test_the_cost_of_each_call_is_recorded(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(calls("book"), "done"), box.tools, prices=PRICES)
    assert result.usage.cost_usd == pytest.approx(0.19 + 0.06)
    assert [step.cost_usd for step in result.step_usage] == [pytest.approx(0.19), pytest.approx(0.06)]
    assert (await store.again().saved()).usage.cost_usd == pytest.approx(0.25)


async def test_what_a_provider_reports_counts_and_nothing_else(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    turn = calls("book", usage=CallUsage(90, 10, cost_usd=3.0))
    result = await bench.run(store, bench.Model(turn, "done"), box.tools, prices=PRICES, max_cost_usd=3)
    assert (result.budget, result.usage.cost_usd) == (Spent("max_cost_usd", 3.0, 3), 3.0)


async def test_without_prices_a_cost_is_unknown(store: Any, bench: Any) -> None:
    assert (await bench.run(store, bench.Model("done"))).usage.cost_usd is None


async def test_a_model_that_answers_under_a_longer_name_has_the_price_of_the_one_asked(bench: Any, box: Any) -> None:
    box.tool("book")
    turn = calls("book", model="m-1-2026-01-01")
    result = await bench.run(bench.memory(), bench.Model(turn, "done"), box.tools, prices=PRICES)
    assert result.usage.by_model["m-1-2026-01-01"].cost_usd == pytest.approx(0.19)


async def test_an_answer_without_usage_costs_what_is_estimated(bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(bench.memory(), bench.Model(calls("book", usage=None), "done"), box.tools, prices=PRICES)
    first = result.step_usage[0]
    assert first.estimated
    assert first.cost_usd == pytest.approx(PRICES["m-1"].cost_of(first.input_tokens, first.output_tokens))


async def test_prices_may_be_a_function(bench: Any) -> None:
    asked: list[str] = []

    def price(model: str) -> Price | None:
        asked.append(model)
        return Price(1_000, 10_000) if model == "m-1" else None

    result = await bench.run(bench.memory(), bench.Model("done"), prices=price, max_cost_usd=9)
    assert (result.usage.cost_usd, set(asked)) == (pytest.approx(0.06), {"m-1"})


async def test_a_function_that_fails_behind_a_call_fails_the_run(store: Any, bench: Any) -> None:
    with pytest.raises(ConfigurationError, match="prices failed for m-1: KeyError") as raised:
        await bench.run(store, bench.Model("done"), prices=lambda model: {}[model])
    assert raised.value.field == "prices"
    assert (await bench.run(store.again(), bench.Model("done"))).text == "done"


@pytest.mark.parametrize("prices", [None, {}, {"other": Price(1, 1)}, lambda model: None])
async def test_a_limit_in_money_needs_a_price(store: Any, bench: Any, prices: Any) -> None:
    """DESIGN 6.10."""
    model = bench.Model("done")
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(store, model, max_cost_usd=1, prices=prices)
    assert (raised.value.code, raised.value.field) == ("LOUSHO_PRICE_UNKNOWN", "max_cost_usd")
    assert (model.asked, await store.saved()) == ([], None)


async def test_a_cost_that_was_never_counted_stops_a_run_with_a_limit(store: Any, bench: Any, box: Any) -> None:
    """Nobody knows what the calls before it cost, so it can not be told that the limit is kept."""

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ok"

    box.tool("book", die)
    model = bench.Model(calls("book"), "done")
    await bench.dies(bench.run(store, model, box.tools))
    result = await bench.run(store.again(), model, box.tools, [], max_cost_usd=9, prices=PRICES)
    assert (result.finish_reason, result.budget) == ("budget-exceeded", Spent("max_cost_usd", None, 9))


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ({"max_cost_usd": 0}, "max_cost_usd"),
        ({"max_cost_usd": float("nan")}, "max_cost_usd"),
        ({"max_cost_usd": True}, "max_cost_usd"),
        ({"max_cost_usd": 10**400}, "max_cost_usd"),
        ({"max_input_tokens": 0}, "max_input_tokens"),
        ({"max_output_tokens": "5"}, "max_output_tokens"),
        ({"on_exceeded": "die"}, "on_exceeded"),
        ({"prices": 5}, "prices"),
        ({"prices": {"m-1": 5}}, "prices.m-1"),
        ({"prices": {"m-1": Price(-1, 1)}}, "prices.m-1"),
        ({"prices": {"m-1": Price(10**400, 1)}}, "prices.m-1"),
        ({"prices": lambda model: 1 / 0, "max_cost_usd": 1}, "prices"),
        ({"prices": lambda model: 3, "max_cost_usd": 1}, "prices.m-1"),
        ({"prices": {"m-1": {"input_per_million": 1}}}, "prices.m-1"),
        ({"permission_mode": "auto"}, "permission_mode"),
        ({"permissions": [{"tool": "x"}]}, "permissions.0"),
    ],
)
async def test_a_wrong_option_is_refused_and_named(bench: Any, option: Any, field: str) -> None:
    model = bench.Model("done")
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), model, **option)
    assert (raised.value.field, model.asked) == (field, [])


async def test_time_that_ran_out_is_a_budget(bench: Any, box: Any, clock: Any) -> None:
    def late(args: Any, ctx: Any) -> None:
        clock.ms += 250

    box.tool("slow", late)
    result = await bench.run(bench.memory(), bench.Model(bench.Calls("slow"), "never"), box.tools, clock=clock, max_duration_ms=200)
    assert (result.finish_reason, result.budget) == ("timeout", Spent("max_duration_ms", 250, 200))
