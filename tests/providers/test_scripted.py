"""The scripted provider: which entry it plays, what it says, and how it fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import yaml

from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.shared import Shared
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer, ModelRequest, TextDelta
from lousho_cli.providers.scripted import ScriptedProvider


def request(turns: int = 0, *messages: Message) -> ModelRequest:
    return ModelRequest(messages=messages or (Message(role="user", content="hello"),), turns=turns)


def result(content: str, tool: str | None = "weather", call_id: str = "c1") -> Message:
    return Message(role="tool", content=content, tool_call_id=call_id, tool_name=tool)


async def error_from(provider: ScriptedProvider, asked: ModelRequest) -> tuple[ProviderError, str]:
    """The error, and what was streamed before it."""
    streamed = []
    with pytest.raises(ProviderError) as caught:
        async for event in provider.stream(asked):
            assert isinstance(event, TextDelta)
            streamed.append(event.text)
    return caught.value, "".join(streamed)


async def test_the_script_of_the_command_line_page(wire: Any) -> None:
    turns = yaml.safe_load("""
    - text: Let me look.
      tool_calls: [{ name: weather, args: { city: Lisbon }, id: call_weather }]
      usage: { input_tokens: 40, output_tokens: 12 }
    - - { when: { tool: weather, contains: rain }, text: "Rain: take the museum day." }
      - { text: "Sunny: take the coast." }
    """)
    provider = ScriptedProvider(turns)
    first = await wire.answer(provider, request())
    assert first.message == Message(
        role="assistant", content="Let me look.", tool_calls=(ToolCall("call_weather", "weather", '{"city":"Lisbon"}'),)
    )
    assert (first.finish_reason, first.usage, first.model) == ("tool_calls", CallUsage(input_tokens=40, output_tokens=12), "scripted")
    rain = await wire.answer(provider, request(1, result('{"forecast":"rain"}')))
    sun = await wire.answer(provider, request(1, result('{"forecast":"sun"}')))
    assert (rain.message.content, sun.message.content) == ("Rain: take the museum day.", "Sunny: take the coast.")
    assert (sun.finish_reason, sun.usage) == ("stop", None)


async def test_it_has_no_state(wire: Any) -> None:
    turns = ["one", "two", "three"]
    for number in (2, 0, 1, 1):
        assert (await wire.answer(ScriptedProvider(turns), request(number))).message.content == turns[number]


async def test_calls_without_an_id_get_one_from_their_place(wire: Any) -> None:
    provider = ScriptedProvider([{"tool_calls": [{"name": "a"}, {"name": "b", "id": "call_5_1"}, {"name": "c"}]}], repeat_last=True)
    ids = [[call.id for call in (await wire.answer(provider, request(turn))).message.tool_calls] for turn in (0, 4)]
    assert ids == [["call_1_1", "call_5_1", "call_1_3"], ["call_5_1_", "call_5_1_5", "call_5_3"]]
    assert len({call_id for turn in ids for call_id in turn}) == 6


async def test_arguments_keep_what_was_written(wire: Any) -> None:
    calls = [
        {"name": "a"},
        {"name": "b", "args": None},
        {"name": "c", "args": '{"cut'},
        {"name": "d", "args": {"n": 2712345678901234567, "ü": 1.0}},
    ]
    answer = await wire.answer(ScriptedProvider([{"tool_calls": calls}]), request())
    assert [call.arguments for call in answer.message.tool_calls] == ["{}", "{}", '{"cut', '{"n":2712345678901234567,"ü":1.0}']


async def test_past_the_end_is_an_error_or_the_last_entry(wire: Any) -> None:
    error, _ = await error_from(ScriptedProvider(["one"]), request(1))
    assert (error.category, error.retryable) == ("bad-request", False)
    assert "repeat_last" in error.hint
    assert (await wire.answer(ScriptedProvider(["one", "two"], repeat_last=True), request(9))).message.content == "two"


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"tool": "weather"}, True),
        ({"tool": "weather", "contains": "new"}, True),
        ({"tool": "weather", "contains": "old"}, False),
        ({"tool": "weather", "contains": 'say "hi"'}, True),
        ({"tool": "other"}, False),
        ({"tool": "nameless", "contains": "plain"}, True),
        ({"user": "second"}, True),
        ({"user": "first"}, False),
        ({"tool": "weather", "user": "first"}, False),
        ({"result": {"c1": "old"}}, True),
        ({"result": {"c2": {"n": 1, "text": 'new, say "hi"'}}}, True),
        ({"result": {"c2": {"n": True, "text": 'new, say "hi"'}}}, False),
        ({"result": {"c2": {"n": 1}}}, False),
        ({"result": {"c3": "plain"}}, True),
        ({"result": {"c9": None}}, False),
    ],
)
@pytest.mark.parametrize("shape", [tuple, Shared])
async def test_when(wire: Any, when: dict[str, Any], holds: bool, shape: Any) -> None:
    messages = shape(
        [
            Message(role="user", content="first"),
            result('"old"', call_id="c1"),
            Message(role="user", content="second"),
            Message(role="assistant", tool_calls=(ToolCall("c3", "nameless"), ToolCall("c2", "weather"))),
            result("plain", tool=None, call_id="c3"),
            result('{"n":1.0,"text":"new, say \\"hi\\""}', call_id="c2"),
        ]
    )
    provider = ScriptedProvider([[{"when": when, "text": "yes"}, "no"]])
    answer = await wire.answer(provider, ModelRequest(messages=messages))
    assert answer.message.content == ("yes" if holds else "no")


async def test_no_alternative_that_applies_is_a_clear_error() -> None:
    error, _ = await error_from(ScriptedProvider([{"when": {"user": "x"}, "text": "y"}]), request())
    assert (error.category, error.retryable) == ("bad-request", False)
    assert "provider.turns.0" in error.hint


async def test_the_usual_path_does_not_read_the_transcript(wire: Any) -> None:
    class Long(Shared[Message]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            Long.reads += 1
            return super().__getitem__(index)

    messages = Long([Message(role="user", content="x")] * 10_000 + [result('"rain"')])
    provider = ScriptedProvider([[{"when": {"tool": "weather", "contains": "rain"}, "text": "wet"}]])
    assert (await wire.answer(provider, ModelRequest(messages=messages))).message.content == "wet"
    assert Long.reads <= 2


async def test_a_delay_is_spread_over_pieces(wire: Any, clock: Any) -> None:
    provider = ScriptedProvider([{"text": "abcdefgh", "delay": 0.2}], clock=clock)
    events = await wire.events(provider, request())
    assert [event.text for event in events[:-1]] == ["ab", "cd", "ef", "gh"]
    assert sum(clock.slept) == pytest.approx(0.2)
    assert len(clock.slept) == 4


async def test_a_delay_without_text_and_without_a_clock_still_waits(wire: Any) -> None:
    provider = ScriptedProvider([{"tool_calls": [{"name": "a"}], "delay": 0.02}])
    begin = asyncio.get_running_loop().time()
    assert len(await wire.events(provider, request())) == 1
    assert asyncio.get_running_loop().time() - begin >= 0.019


async def test_a_status_is_the_error_a_server_would_give(wire: Any) -> None:
    provider = ScriptedProvider([{"error": {"status": 429, "message": "slow down", "retry_after": 2}}], clock=wire.clock)
    body = b'{"error":{"message":"slow down"}}'
    served = await wire.fail(wire.Play([body], status=429, headers={"content-type": "application/json", "retry-after": "2"}))
    for _ in range(2):  # every time it is asked
        error, _streamed = await error_from(provider, request())
        assert vars(error) == vars(served)
    assert (error.category, error.retryable, error.retry_after_ms) == ("rate-limit", True, 2000)


@pytest.mark.parametrize("written", ["error: disconnect", "error: {disconnect: }", "error: {disconnect: true}", 'error: "disconnect: now"'])
async def test_a_disconnect_loses_the_second_half(wire: Any, written: str) -> None:
    entry = yaml.safe_load(written) | {"text": "half of it"}
    error, streamed = await error_from(ScriptedProvider([entry]), request())
    assert (error.category, error.retryable, error.partial, streamed) == ("network", True, True, "half ")
    served = await wire.fail(wire.sse(wire.chunk({"content": "half "}), done=False))
    assert vars(error) == vars(served)


async def test_a_disconnect_before_anything_is_not_partial() -> None:
    error, streamed = await error_from(ScriptedProvider([{"error": "disconnect"}]), request())
    assert (error.partial, streamed) == (False, "")


async def test_times_counts_in_this_object_and_then_the_answer_is_given(wire: Any) -> None:
    turns = [{"error": {"status": 503, "times": 2}, "text": "at last"}, [{"error": {"disconnect": True, "times": 1}}, "next"]]
    provider = ScriptedProvider(turns)
    for _ in range(2):
        assert (await error_from(provider, request()))[0].category == "overloaded"
    assert (await wire.answer(provider, request())).message.content == "at last"
    assert (await error_from(provider, request(1)))[0].category == "network"
    assert (await wire.answer(provider, request(1))).message.content == "next"
    assert (await error_from(ScriptedProvider(turns), request()))[0].category == "overloaded"


async def test_a_finish_reason_and_a_model_can_be_said(wire: Any) -> None:
    provider = ScriptedProvider([{"text": "cut", "finish_reason": "length"}], model="tiny")
    answer = await wire.answer(provider, ModelRequest(messages=(), model="other"))
    assert isinstance(answer, Answer)
    assert (answer.finish_reason, answer.model, provider.model, provider.name) == ("length", "other", "tiny", "scripted")
