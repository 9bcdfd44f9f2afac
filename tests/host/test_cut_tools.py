"""Calls that a crash or the output limit cut: what runs again, and what the model is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT, TRUNCATED_TOOL_RESULT
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.ports.tool import ToolContext
from lousho_cli.tools.define import define_tool
from tests.host.left import Model, begun, calling, harness, left, records, state


class Ran(list[str]):
    """Tools that note each run: ``pay`` says nothing of itself, ``look`` is safe, ``book`` may never repeat."""

    @property
    def tools(self) -> list[Any]:
        kinds: dict[str, Any] = {"pay": None, "look": "safe", "book": "never"}
        return [self._tool(name, replay) for name, replay in kinds.items()]

    def _tool(self, name: str, replay: Any) -> Any:
        async def run() -> str:
            self.append(name)
            return f"{name} again"

        return define_tool(name=name, description=f"To {name}.", execute=run, replay=replay)


@pytest.fixture
def ran() -> Ran:
    return Ran()


async def cut(store: Any, *names: str, done: tuple[str, ...] = (), finish: str = "tool_calls") -> None:
    """A turn with calls of these names, all begun by a host that is gone; those ``done`` have ended."""
    began = () if finish == "length" else tuple(r.ToolStarted(f"c-{name}") for name in names)
    ended = tuple(r.ToolFinished(f"c-{name}", f'"{name} once"') for name in done)
    more = [(*began, *ended)] if began or ended else []
    await left(store, begun(offered=names), (r.Turn(calling(*names), finish), r.Mark(1)), *more)


async def recovered(host: HarnessHost, ran: Ran, **options: Any) -> tuple[Any, list[Message]]:
    """How the input ended, and the results the model was told."""
    model = Model("Done.")
    session = await host.open(harness(model, tools=ran.tools, **options), "t")
    ended = await session.settled("a")
    return ended, [message for message in model.asked[0] if message.role == "tool"]


def said(result: Message) -> str:
    return str(json.loads(result.text)["message"])


async def test_ds_107_a_result_survives_a_crash_and_the_tool_does_not_run_again(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look", "pay", done=("look",))
    _, results = await recovered(host, ran)
    assert (results[0].text, ran) == ('"look once"', [])


@pytest.mark.parametrize("name", ["pay", "book"])
async def test_ds_108_a_cut_call_gets_an_error_by_default_and_the_model_goes_on(store: Any, host: HarnessHost, ran: Ran, name: str) -> None:
    await cut(store, name)
    ended, (result,) = await recovered(host, ran)
    assert (ended.outcome, ended.text, ran) == ("completed", "Done.", [])
    assert result.is_error and said(result) == INTERRUPTED_TOOL_RESULT


async def test_ds_109_a_cut_safe_call_runs_again(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look")
    _, (result,) = await recovered(host, ran)
    assert (result.text, ran) == ('"look again"', ["look"])


async def test_ds_110_a_batch_keeps_its_order(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "pay", "look", "book", done=("book",))
    _, results = await recovered(host, ran)
    assert [result.tool_name for result in results] == ["pay", "look", "book"]
    assert [result.is_error for result in results] == [True, False, False]
    assert results[2].text == '"book once"' and ran == ["look"]


async def test_ds_111_the_text_of_a_cut_call_can_be_set(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "pay")
    _, (result,) = await recovered(host, ran, durability={"interrupted_tool_result": "Look first."})
    assert result.is_error and said(result) == "Look first."


async def test_ds_112_a_call_of_a_cut_answer_never_runs_not_even_a_safe_one(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look", "pay", finish="length")
    ended, results = await recovered(host, ran)
    assert (ended.text, ran, [result.is_error for result in results]) == ("Done.", [], [True, True])


async def test_ds_202_such_a_call_gets_our_own_words_by_default(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look", finish="length")
    _, (result,) = await recovered(host, ran)
    assert said(result) == TRUNCATED_TOOL_RESULT


async def test_ds_203_only_calls_without_a_result_get_the_truncated_text(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look", "pay", done=("look",), finish="length")
    _, results = await recovered(host, ran, durability={"truncated_tool_result": "Too long."})
    assert (results[0].text, said(results[1])) == ('"look once"', "Too long.")


class Cut:
    """A model whose first answer is cut at the output limit within its calls."""

    name, model = "cut", "cut"

    def __init__(self) -> None:
        self.asked: list[tuple[Message, ...]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        self.asked.append(tuple(request.messages))
        if len(self.asked) == 1:
            yield Answer(calling("look", "pay"), "length")
        else:
            yield Answer(Message("assistant", "Shorter."), "stop")


async def live(host: HarnessHost, ran: Ran, text: Any) -> tuple[Cut, Any]:
    model = Cut()
    session = await host.open(harness(model, tools=ran.tools, durability={"truncated_tool_result": text}), "t")
    await session.send("Hi", input_id="a")
    return model, await session.settled("a")


async def test_ds_113_with_a_text_a_live_cut_answer_is_gone_on_with(store: Any, host: HarnessHost, ran: Ran) -> None:
    model, ended = await live(host, ran, "Too long.")
    assert (ended.outcome, ended.text, len(model.asked), ran) == ("completed", "Shorter.", 2, [])
    assert [said(message) for message in model.asked[1] if message.role == "tool"] == ["Too long."] * 2


async def test_ds_113_without_one_it_ends_the_turn(store: Any, host: HarnessHost, ran: Ran) -> None:
    model, ended = await live(host, ran, None)
    assert (ended.outcome, len(model.asked), ran) == ("completed", 1, [])
    kept = await state(store)
    assert (kept.ended, kept.finish_reason, kept.pending) == (True, "length", ())
    assert [said(message) for message in kept.messages if message.role == "tool"] == [TRUNCATED_TOOL_RESULT] * 2


async def test_ds_114_the_text_may_be_a_function_of_the_call(store: Any, host: HarnessHost, ran: Ran) -> None:
    model, _ = await live(host, ran, lambda call: f"{call.tool_name} ({call.tool_call_id}) did not run.")
    assert [said(message) for message in model.asked[1] if message.role == "tool"] == [
        "look (c-look) did not run.",
        "pay (c-pay) did not run.",
    ]


async def test_ds_114_the_same_function_holds_in_recovery(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look", finish="length")
    _, (result,) = await recovered(host, ran, durability={"truncated_tool_result": lambda call: f"No {call.tool_name}."})
    assert said(result) == "No look."


@pytest.mark.parametrize("broken", [lambda call: 1 // 0, lambda call: None])
async def test_a_function_that_has_no_words_leaves_ours(store: Any, host: HarnessHost, ran: Ran, broken: Any) -> None:
    await cut(store, "look", finish="length")
    _, (result,) = await recovered(host, ran, durability={"truncated_tool_result": broken})
    assert said(result) == TRUNCATED_TOOL_RESULT


async def test_an_attempt_is_counted_once_for_a_batch(store: Any, host: HarnessHost, ran: Ran) -> None:
    await cut(store, "look", "pay")
    await recovered(host, ran)
    assert len(await records(store, r.RunResumed)) == 1


async def test_ds_119_a_durable_tool_set_to_never_is_not_run_again(store: Any) -> None:
    begun, ran = asyncio.Event(), list[str]()

    async def work(context: ToolContext) -> str:
        ran.append(await context.step.do("one", lambda: "first"))
        context.append({"type": "mine"})
        begun.set()
        await asyncio.Event().wait()
        return "unreachable"

    tool = define_tool(name="work", description="Works.", execute=work, replay="never")
    first, model = create_harness_host({"log": store}), Model("Done.")
    session = await first.open(harness(Model(calling("work")), tools=[tool], abort_grace_ms=0), "t")
    await session.send("Hi", input_id="a")
    await begun.wait()
    await first.close(recoverable=True)
    second = create_harness_host({"log": store})
    again = await second.open(harness(model, tools=[tool]), "t")
    assert (await again.settled("a")).text == "Done."
    assert (ran, model.asked[0][-1].is_error) == (["first"], True)
    assert await records(store, r.Foreign) == []
    await second.close()
