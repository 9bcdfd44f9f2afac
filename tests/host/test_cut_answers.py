"""An answer that was being written when its host went: kept and gone on with where the harness says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.texts import CONTINUE_NOTE
from lousho_cli.errors import ConfigurationError
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.provider import ModelRequest, ProviderEvent, ReasoningDelta, TextDelta
from tests.host.left import Model, begun, harness, left, records, state

SIGNED = Reasoning("So it is.", "sig")
ON = {"continue_cut_off": True}


class Streaming:
    """A model that says its pieces and then falls silent."""

    name, model = "streaming", "streaming"

    def __init__(self, *pieces: ProviderEvent | str) -> None:
        self._pieces = pieces
        self.said = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        for piece in self._pieces:
            yield TextDelta(piece) if isinstance(piece, str) else piece
        self.said.set()
        await asyncio.Event().wait()


async def gone_on(host: HarnessHost, durability: Any = ON, answer: str = "and the rest.") -> tuple[Any, list[Message]]:
    """How the input ended, and what the model was asked with behind it."""
    model = Model(answer)
    session = await host.open(harness(model, durability=durability), "t")
    ended = await session.settled("a")
    return ended, list(model.asked[0])


def shown(messages: list[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


async def test_ds_123_the_partial_answer_and_the_note_are_kept_in_one_batch(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("It was a dark "),), (r.Partial("night, "),))
    ended, asked = await gone_on(host)
    assert shown(asked) == [("user", "Hi"), ("assistant", "It was a dark night, "), ("user", CONTINUE_NOTE)]
    assert (ended.outcome, ended.text) == ("completed", "It was a dark night, and the rest.")
    (batch,) = [batch for batch in (await store.read("t")).batches if any(isinstance(one, r.Splice) for one in batch.records)]
    assert any(isinstance(one, r.RunResumed) for one in batch.records)


async def test_ds_124_several_notes_are_messages_in_order(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("It was"),))
    _, asked = await gone_on(host, {"continue_cut_off": {"note": ["You were interrupted.", "Go on."]}})
    assert shown(asked)[2:] == [("user", "You were interrupted."), ("user", "Go on.")]


async def test_ds_125_signed_reasoning_alone_goes_on_and_unsigned_is_dropped(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("", (SIGNED, Reasoning("unsigned"))),))
    _, asked = await gone_on(host)
    assert shown(asked) == [("user", "Hi"), ("assistant", ""), ("user", CONTINUE_NOTE)]
    assert asked[1].reasoning == (SIGNED,)


@pytest.mark.parametrize("partial", [r.Partial(" \n"), r.Partial("", (Reasoning("unsigned"),))], ids=["blank", "unsigned"])
async def test_ds_125_without_anything_to_keep_it_is_asked_for_again(store: Any, host: HarnessHost, partial: r.Partial) -> None:
    await left(store, begun(), (partial,))
    _, asked = await gone_on(host)
    assert shown(asked) == [("user", "Hi")]


async def test_ds_126_what_a_sub_agent_had_said_is_not_kept(store: Any, host: HarnessHost) -> None:
    call = ToolCall("c1", "scout", "{}")
    within = r.Within(("c1",), (r.RunStarted("s"), r.Partial("Of the sub-agent")))
    turn = (r.Turn(Message("assistant", "", (call,)), "tool_calls"), r.Mark(1))
    await left(store, begun(), turn, (r.ToolStarted("c1"),), (within,), (r.ToolFinished("c1", "1"),))
    _, asked = await gone_on(host)
    assert [message.role for message in asked] == ["user", "assistant", "tool"]


async def test_ds_126_the_input_of_a_cut_call_is_not_kept(store: Any, host: HarnessHost) -> None:
    first, model = create_harness_host({"log": store}), Streaming("Let me look. ", ReasoningDelta("hm"))
    session = await first.open(harness(model, durability=ON), "t")
    await session.send("Hi", input_id="a")
    await model.said.wait()
    await first.close(recoverable=True)
    ended, asked = await gone_on(host)
    assert (asked[1].text, asked[1].tool_calls, asked[1].reasoning) == ("Let me look. ", (), ())
    assert ended.outcome == "completed"


async def test_ds_127_with_the_option_off_the_answer_starts_again(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("It was"),))
    ended, asked = await gone_on(host, {}, "Anew.")
    assert (shown(asked), ended.text) == ([("user", "Hi")], "Anew.")
    assert await records(store, r.Splice) == []


async def test_ds_128_it_holds_for_a_recoverable_close(store: Any, host: HarnessHost) -> None:
    first, model = create_harness_host({"log": store}), Streaming(ReasoningDelta("So it is."), ReasoningDelta("", SIGNED), "It ", "was ")
    session = await first.open(harness(model, durability=ON), "t")
    await session.send("Hi", input_id="a")
    await model.said.wait()
    await first.close(recoverable=True)
    ended, asked = await gone_on(host)
    assert (asked[1].text, asked[1].reasoning) == ("It was ", (SIGNED,))
    assert ended.text == "It was and the rest."


async def test_ds_128_it_holds_where_the_store_writes_slowly(host: HarnessHost, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, model = create_harness_host({"log": store}), Streaming("It ", "was ")
    append = store.append

    async def slowly(*args: Any, **options: Any) -> Any:
        for _ in range(50):
            await asyncio.sleep(0)
        return await append(*args, **options)

    monkeypatch.setattr(store, "append", slowly)
    session = await first.open(harness(model, durability=ON), "t")
    await session.send("Hi", input_id="a")
    await model.said.wait()
    await first.close(recoverable=True)
    _, asked = await gone_on(host)
    assert asked[1].text == "It was "


async def test_a_silent_model_leaves_what_it_said(store: Any) -> None:
    first, model = create_harness_host({"log": store}), Streaming("It ", "was ")
    session = await first.open(harness(model, durability=ON), "t")
    await session.send("Hi", input_id="a")
    async with asyncio.timeout(20):
        while not (parts := await records(store, r.Partial)):
            await store.watch("t", (await store.read("t")).head, 50)
    assert "".join(part.text for part in parts) == "It was "
    await first.close()


async def test_a_cancelled_answer_is_not_kept(store: Any) -> None:
    host, model = create_harness_host({"log": store}), Streaming("It ", "was ")
    session = await host.open(harness(model, durability=ON), "t")
    await session.send("Hi", input_id="a")
    await model.said.wait()
    await session.cancel()
    await session.settled("a")
    await host.close()
    assert shown(list((await state(store)).messages)) == [("user", "Hi")]


async def test_an_answer_can_be_cut_more_than_once(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("One, "),))
    first, model = create_harness_host({"log": store}), Streaming("two, ")
    session = await first.open(harness(model, durability=ON), "t")
    await model.said.wait()
    await first.close(recoverable=True)
    ended, asked = await gone_on(host, answer="three.")
    assert [text for role, text in shown(asked) if role == "assistant"] == ["One, ", "two, "]
    assert ended.text == "One, two, three."
    assert session.thread_id == "t"


async def test_who_looks_on_is_told_that_the_answer_goes_on(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("It was "),))
    await gone_on(host)
    session = await host.open(harness(Model()), "t")
    told = []
    async for event in session.events():
        told.append(event)
        if event.type == "run.done":
            break
    (resumed,) = [event for event in told if event.type == "harness.operation.resumed"]
    assert (resumed.operation, resumed.attempt, resumed.continued) == ("a", 2, True)
    assert "".join(event.text for event in told if event.type == "text.delta") == "It was and the rest."


async def test_ds_204_true_adds_our_note_and_ones_own_takes_its_place(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Partial("It was"),))
    _, asked = await gone_on(host, {"continue_cut_off": {"note": "Go on from where you stopped."}})
    assert shown(asked)[2:] == [("user", "Go on from where you stopped.")]


@pytest.mark.parametrize("value", [{"note": ""}, {"note": []}, {"note": [1]}, {"other": "x"}, {}], ids=str)
def test_a_note_that_says_nothing_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        harness(Model(), durability={"continue_cut_off": value})
    assert raised.value.field == "continue_cut_off"
