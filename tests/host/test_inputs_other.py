"""Inputs that are no message: going on, resetting; and what reaches the model for one turn alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.resets import is_reset
from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.function import function_tool


class Model:
    """Answers in order, or fails."""

    name, model = "model", "usual"

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer if isinstance(answer, Answer) else Answer(Message(role="assistant", content=answer))


def harness(model: Any, **options: Any) -> Harness:
    return define_harness("acme/assistant", model, instructions="Be brief.", **options)


def said(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages]


async def transcript(store: Any) -> tuple[Message, ...]:
    return tuple((await read_session(store, "t")).messages)


async def test_ds_059_going_on_adds_no_message(host: HarnessHost, store: Any) -> None:
    model = Model(ProviderError("down", category="server"), "One.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    assert (await session.settled("a")).outcome == "failed"
    assert (await session.continue_(input_id="c")).status == "accepted"
    ended = await session.settled("c")
    assert (ended.outcome, ended.text) == ("completed", "One.")
    assert said(model.asked[1]) == ["Be brief.", "1"]
    assert [message.text for message in await transcript(store)] == ["Be brief.", "1", "One."]


async def test_ds_060_there_is_nothing_to_go_on_with(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(harness(model), "t")
    assert (await session.continue_(input_id="x")).reason == "nothing_to_continue"
    await session.send("1", input_id="a")
    await model.begun.wait()
    assert (await session.continue_(input_id="y")).status == "queued"
    model.go.set()
    await session.settled("a")
    await host.idle("t")
    assert (await read_session(store, "t")).inputs["y"].error == "nothing_to_continue"
    receipt = await session.continue_(input_id="z")
    assert (receipt.status, receipt.reason) == ("rejected", "nothing_to_continue")
    await session.reset()
    assert (await session.continue_(input_id="w")).reason == "nothing_to_continue"
    assert len(model.asked) == 1


@pytest.mark.parametrize(("note", "seen"), [("We spoke of Rome.", ["We spoke of Rome."]), (None, []), ("  ", [])])
async def test_ds_061_behind_a_reset_the_model_sees_the_note_and_what_follows(store: Any, note: str | None, seen: list[str]) -> None:
    first = create_harness_host({"log": store})
    session = await first.open(harness(Model("One.")), "t")
    await session.send("1", input_id="a")
    await session.settled("a")
    assert (await session.reset(note, input_id="r")).status == "accepted"
    assert (await session.reset(note, input_id="r")).status == "accepted"
    assert (await session.settled("r")).outcome == "completed"
    await first.close()
    model = Model("Two.", "Three.")
    second = create_harness_host({"log": store})
    session = await second.open(harness(model), "t")
    for key in ("b", "c"):
        await session.send(key, input_id=key)
        await session.settled(key)
    assert said(model.asked[0]) == ["Be brief.", *seen, "b"]
    assert said(model.asked[1]) == ["Be brief.", *seen, "b", "Two.", "c"]
    kept = await transcript(store)
    assert [message.text for message in kept if not is_reset(message)] == ["Be brief.", "1", "One.", "b", "Two.", "c", "Three."]
    assert sum(map(is_reset, kept)) == 1
    latest = (await read_session(store, "t")).latest
    assert latest is not None and tuple(latest.messages) == kept
    await second.close()


async def test_ds_062_a_reset_during_a_turn_is_done_before_the_next(host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await session.send("2", input_id="b")
    assert (await session.reset("Forget.", input_id="r")).status == "queued"
    model.go.set()
    assert (await session.settled("b")).text == "Two."
    assert said(model.asked[1]) == ["Be brief.", "Forget.", "2"]
    assert (await session.settled("r")).outcome == "completed"


async def test_a_reset_that_nothing_follows_is_done_all_the_same(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await session.reset("Forget.", input_id="r")
    model.go.set()
    await session.settled("r")
    await host.idle("t")
    assert [message.text for message in await transcript(store)] == ["Be brief.", "1", "One.", "Forget."]
    assert len(model.asked) == 1


async def test_ds_063_a_reset_while_a_person_must_decide_is_rejected(host: HarnessHost) -> None:
    async def pay(amount: int) -> str:
        return "paid"

    calls = {"tool_calls": [{"name": "pay", "args": {"amount": 1}}]}
    tool = function_tool(pay, needs_approval=True)
    session = await host.open(harness(ScriptedProvider([calls, "Done."]), tools=[tool]), "t")
    await session.send("1", input_id="a")
    assert (await session.settled("a")).outcome == "interrupted"
    receipt = await session.reset()
    assert (receipt.status, receipt.reason) == ("rejected", "pending_interrupts")


async def test_ds_064_ephemeral_messages_reach_the_model_and_no_log(store: Any) -> None:
    def look() -> str:
        return "seen"

    calls = ScriptedProvider([{"tool_calls": [{"name": "look", "args": {}}]}])
    asks_a_tool = [event async for event in calls.stream(ModelRequest(()))][-1]
    model = Model(asks_a_tool, "One.", "Two.")
    first = create_harness_host({"log": store})
    session = await first.open(harness(model, tools=[function_tool(look)]), "t")
    await session.send("1", input_id="a", ephemeral="It is noon.")
    await session.settled("a")
    await session.send("2", input_id="b")
    await session.settled("b")
    assert [said(request)[:3] for request in model.asked[:2]] == [["Be brief.", "It is noon.", "1"]] * 2
    assert "It is noon." not in said(model.asked[2])
    await first.close()
    assert "noon" not in repr((await store.read("t")).batches)


async def test_ds_064_they_are_gone_when_another_host_goes_on(store: Any) -> None:
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    slow = ScriptedProvider([{"text": "Late.", "delay": 30}])
    session = await first.open(harness(slow), "t")
    await session.send("1", input_id="a", ephemeral="It is noon.", overrides={"model": "small", "reasoning": "high", "adapter": slow})
    await first.close(recoverable=True)
    model = Model("One.")
    again = await second.open(harness(model), "t")
    assert (await again.settled("a")).text == "One."
    assert said(model.asked[0]) == ["Be brief.", "1"]
    assert (model.asked[0].model, model.asked[0].reasoning) == ("small", "high")
    await second.close()


async def test_overrides_hold_for_the_turn_of_their_input(host: HarnessHost, store: Any) -> None:
    def other() -> str:
        return "other"

    usual, own = Model("One.", "Three."), Model("Two.")
    session = await host.open(harness(usual), "t")
    await session.send("1", input_id="a", overrides={"model": "small", "model_options": {"temperature": 0}, "prompt_cache": False})
    await session.settled("a")
    await session.send("2", input_id="b", overrides={"adapter": own, "tools": [function_tool(other)]})
    await session.settled("b")
    await session.send("3", input_id="c")
    await session.settled("c")
    first, last = usual.asked
    assert (first.model, first.model_options, first.prompt_cache) == ("small", {"temperature": 0}, False)
    assert (last.model, last.model_options, last.prompt_cache, last.tools) == ("usual", {}, None, ())
    assert [spec.name for spec in own.asked[0].tools] == ["other"]
    started = [one for batch in (await store.read("t")).batches for one in batch.records if isinstance(one, r.RunStarted)]
    assert [one.model for one in started] == ["small", None, None]


async def test_an_override_that_makes_no_sense_is_refused_at_once(host: HarnessHost, store: Any) -> None:
    session = await host.open(harness(Model("One.")), "t")
    not_json = {"model_options": {1.5: float("nan")}}
    for wrong, field in (({"temperature": 1}, "overrides.temperature"), (not_json, "overrides.model_options")):
        with pytest.raises(ConfigurationError) as caught:
            await session.send("1", overrides=wrong)
        assert caught.value.field == field
    assert (await store.read("t")).batches == ()
