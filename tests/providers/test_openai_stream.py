"""What servers really stream, and the answer that must come of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import ModelRequest, ReasoningDelta, TextDelta


def calls_of(answer: Any) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in answer.message.tool_calls]


async def test_text_comes_as_it_is_streamed(wire: Any) -> None:
    wire.plays.append(
        wire.Play([wire.sse(wire.chunk({"reasoning_content": "hm"}), wire.chunk({"content": "a"}), wire.chunk({"content": "b"}, "stop"))])
    )
    events = await wire.events(wire.provider())
    assert events[:-1] == [ReasoningDelta("hm"), TextDelta("a"), TextDelta("b")]
    assert events[-1].message == Message(role="assistant", content="ab", reasoning=(Reasoning(text="hm"),))
    assert (events[-1].finish_reason, events[-1].usage, events[-1].model) == ("stop", None, "m-1")


async def test_case_087_interleaved_fragments_belong_to_their_index(wire: Any) -> None:
    answer = await wire.ask(
        wire.sse(
            wire.calls(wire.fragment("f", "", index=0, id="a")),
            wire.calls(wire.fragment("g", "", index=1, id="b")),
            wire.calls(wire.fragment(None, '{"t":"A"}', index=0)),
            wire.calls(wire.fragment(None, '{"t":"B"}', index=1)),
            wire.chunk(finish="tool_calls"),
        )
    )
    assert calls_of(answer) == [("a", "f", '{"t":"A"}'), ("b", "g", '{"t":"B"}')]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("ids", [("a", "b"), (None, None), ("dup", "dup")])
async def test_case_088_every_call_says_index_0(wire: Any, together: bool, ids: tuple[Any, Any]) -> None:
    first, second = wire.fragment("f", '{"t":1}', index=0, id=ids[0]), wire.fragment("g", '{"t":2}', index=0, id=ids[1])
    chunks = [wire.calls(first, second)] if together else [wire.calls(first), wire.calls(second)]
    answer = await wire.ask(wire.sse(*chunks, wire.chunk(finish="tool_calls")))
    assert [call[1:] for call in calls_of(answer)] == [("f", '{"t":1}'), ("g", '{"t":2}')]
    assert len({call[0] for call in calls_of(answer)}) == 2


async def test_case_088_index_0_twice_in_fragments(wire: Any) -> None:
    answer = await wire.ask(
        wire.sse(
            wire.calls(wire.fragment("f", '{"t"', index=0, id="a")),
            wire.calls(wire.fragment(None, ":1}", index=0)),
            wire.calls(wire.fragment("f", "", index=0, id="b")),
            wire.calls(wire.fragment(None, '{"t":2}', index=0)),
            wire.chunk(finish="tool_calls"),
        )
    )
    assert calls_of(answer) == [("a", "f", '{"t":1}'), ("b", "f", '{"t":2}')]


@pytest.mark.parametrize("ids", [("a", "b"), (None, None)])
async def test_case_089_two_calls_without_index(wire: Any, ids: tuple[Any, Any]) -> None:
    answer = await wire.ask(
        wire.sse(wire.calls(wire.fragment("f", '{"t":1}', id=ids[0]), wire.fragment("f", '{"t":2}', id=ids[1])), wire.chunk(finish="stop"))
    )
    assert [call[1:] for call in calls_of(answer)] == [("f", '{"t":1}'), ("f", '{"t":2}')]


async def test_case_089_one_call_in_fragments_without_index(wire: Any) -> None:
    answer = await wire.ask(
        wire.sse(
            wire.calls(wire.fragment("f", "", id="a")),
            wire.calls(wire.fragment(None, '{"t":')),
            wire.calls(wire.fragment(None, "1}", id="a")),
            wire.chunk(finish="stop"),
        )
    )
    assert calls_of(answer) == [("a", "f", '{"t":1}')]


async def test_a_name_repeated_in_every_fragment_is_one_call(wire: Any) -> None:
    pieces = [wire.calls(wire.fragment("f", piece, index=0, id="a")) for piece in ('{"t"', ":", "1}")]
    again = wire.calls(wire.fragment("f", '{"t":1}', index=0, id="a"))
    answer = await wire.ask(wire.sse(*pieces, again, wire.chunk(finish="tool_calls")))
    assert calls_of(answer) == [("a", "f", '{"t":1}')]


@pytest.mark.parametrize("missing", [{}, {"id": None}, {"id": ""}])
async def test_case_091_a_call_without_id_gets_one_that_is_its_own(wire: Any, missing: dict[str, Any]) -> None:
    fragments = [wire.fragment("f", "{}", index=index, **missing) for index in (0, 1)]
    answer = await wire.ask(wire.sse(wire.calls(*fragments), wire.chunk(finish="tool_calls")))
    assert [call[0] for call in calls_of(answer)] == ["call_000000000001", "call_000000000002"]


async def test_case_091_without_id_and_without_stream(wire: Any) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [wire.fragment("f", "{}"), wire.fragment("f", "{}", id="")]}
    whole = {"model": "m-2", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    answer = await wire.ask(wire.Play([json.dumps(whole).encode()], headers={"content-type": "application/json"}))
    assert len({call[0] for call in calls_of(answer)} - {""}) == 2
    assert (answer.finish_reason, answer.usage, answer.model) == ("tool_calls", CallUsage(input_tokens=3), "m-2")


async def test_case_092_a_repeated_id_is_made_unique(wire: Any) -> None:
    fragments = [wire.fragment("f", f'{{"n":{index}}}', index=index, id="dup_1") for index in (0, 1, 2)]
    answer = await wire.ask(wire.sse(wire.calls(*fragments), wire.chunk(finish="tool_calls")))
    assert calls_of(answer) == [("dup_1", "f", '{"n":0}'), ("dup_1_2", "f", '{"n":1}'), ("dup_1_3", "f", '{"n":2}')]


@pytest.mark.parametrize("arguments", ["", "  ", None, "null-key"])
async def test_case_094_blank_arguments_are_an_empty_object(wire: Any, arguments: Any) -> None:
    call = wire.fragment("f", None if arguments == "null-key" else arguments, index=0, id="a")
    if arguments == "null-key":
        call["function"]["arguments"] = None
    answer = await wire.ask(wire.sse(wire.calls(call), wire.chunk(finish="tool_calls")))
    assert calls_of(answer) == [("a", "f", "{}")]


async def test_case_095_and_120_arguments_as_an_object_keep_every_digit(wire: Any) -> None:
    call = wire.fragment("f", {"path": "ä.txt", "id": 2712345678901234567, "x": 9007199254740993, "y": 10**30}, index=0, id="a")
    answer = await wire.ask(wire.sse(wire.calls(call), wire.chunk(finish="tool_calls")))
    assert calls_of(answer) == [
        ("a", "f", '{"path":"ä.txt","id":2712345678901234567,"x":9007199254740993,"y":1000000000000000000000000000000}')
    ]


async def test_case_120_arguments_are_the_models_text(wire: Any) -> None:
    text = '{ "id": 2712345678901234567,\n "x": 1.0, "x": 1e2 }'
    answer = await wire.ask(wire.sse(wire.calls(wire.fragment("f", text, index=0, id="a")), wire.chunk(finish="tool_calls")))
    assert calls_of(answer) == [("a", "f", text)]


@pytest.mark.parametrize(
    ("said", "calls", "meant"),
    [
        ("stop", True, "tool_calls"),
        ("end_turn", True, "tool_calls"),
        ("whatever", True, "tool_calls"),
        ("function_call", True, "tool_calls"),
        ("length", True, "length"),
        ("content_filter", False, "content_filter"),
        ("max_tokens", False, "length"),
        ("tool_calls", False, "stop"),
        ("whatever", False, "other"),
    ],
)
async def test_case_099_a_finish_reason_that_lies(wire: Any, said: str, calls: bool, meant: str) -> None:
    first = wire.calls(wire.fragment("f", "{}", index=0, id="a")) if calls else wire.chunk({"content": "x"})
    assert (await wire.ask(wire.sse(first, wire.chunk(finish=said)))).finish_reason == meant


async def test_done_without_a_finish_reason_is_an_end(wire: Any) -> None:
    assert (await wire.ask(wire.sse(wire.chunk({"content": "x"})))).finish_reason == "stop"
    called = await wire.ask(wire.sse(wire.calls(wire.fragment("f", "{}", index=0, id="a"))))
    assert called.finish_reason == "tool_calls"


@pytest.mark.parametrize("end", ["close", "cut"])
async def test_a_finish_reason_without_done_is_an_end(wire: Any, end: str) -> None:
    body = wire.sse(wire.chunk({"content": "x"}), wire.chunk(finish="stop"), done=False)
    assert (await wire.ask(wire.Play([body], end=end))).message.content == "x"


async def test_case_106_usage_in_a_chunk_without_choices_or_never(wire: Any) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 75, "completion_tokens": 51, "prompt_cache_hit_tokens": 7, "cost": 0.25}}
    answer = await wire.ask(wire.sse(wire.chunk({"content": "x"}, "stop", usage=None), usage))
    assert answer.usage == CallUsage(input_tokens=75, output_tokens=51, cached_input_tokens=7, cost_usd=0.25)
    assert (await wire.ask(wire.sse(wire.chunk({"content": "x"}, "stop", usage=None)))).usage is None
    odd = {"prompt_tokens": None, "completion_tokens": "51", "total_tokens": True}
    assert (await wire.ask(wire.sse(wire.chunk({"content": "x"}, "stop", usage=odd)))).usage is None


async def test_case_107_comments_are_no_events(wire: Any) -> None:
    first, second = wire.sse(wire.chunk({"content": "a"}), done=False), wire.sse(wire.chunk({"content": "b"}, "stop"))
    body = b": OPENROUTER PROCESSING\n\n" + b"id: 7\n" + first + b": ping\n\n:\n\nevent: ping\n\nretry: 5\n\n" + second
    assert (await wire.ask(body)).message.content == "ab"


async def test_case_109_only_line_ends_end_lines(wire: Any) -> None:
    text = "a\u2028b\u2029c\u0085d\u000be\u000cf\u001cg"
    body = wire.sse(wire.chunk({"content": "TEXT"}, "stop")).replace(b"TEXT", text.encode())
    assert (await wire.ask(body)).message.content == text


async def test_half_characters_in_two_escapes_are_one(wire: Any) -> None:
    body = wire.sse(*(wire.chunk({"content": half}) for half in ("HIGH", "LOW", "HIGH")), wire.chunk(finish="stop"))
    answer = await wire.ask(body.replace(b"HIGH", rb"x\ud83d").replace(b"LOW", rb"\ude00y"))
    assert answer.message.content == "x😀yx"


async def test_content_and_thinking_as_parts(wire: Any) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "ok"}]
    answer = await wire.ask(wire.sse(wire.chunk({"content": parts}, "stop")))
    assert (answer.message.content, answer.message.reasoning) == ("ok", (Reasoning(text="hm"),))


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_case_115_reasoning_is_kept_and_sent_back(wire: Any, name: str) -> None:
    thought = [wire.chunk({name: piece}) for piece in ("first ", "then")]
    answer = await wire.ask(wire.sse(*thought, wire.calls(wire.fragment("f", "{}", index=0, id="a")), wire.chunk(finish="tool_calls")))
    assert answer.message.reasoning == (Reasoning(text="first then"),)
    after = ModelRequest(messages=(*wire.hello.messages, answer.message, Message(role="tool", content='"ok"', tool_call_id="a")), turns=1)
    await wire.ask(wire.said(), after)
    sent = wire.seen[-1].body["messages"][1]
    assert {key: value for key, value in sent.items() if key.startswith("reasoning")} == {name: "first then"}, "in the field it came in"


async def test_odd_chunks_are_no_crash(wire: Any) -> None:
    odd: list[Any] = [
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"object": "ping"},
        wire.chunk({"content": 5, "tool_calls": "x"}),
        wire.calls("x", {"function": None, "index": "0"}),
    ]
    error = await wire.fail(wire.sse(*odd, wire.chunk({"content": "a"}, "stop")))
    assert "a tool call without a name" in error.detail
    assert error.retryable
    assert (await wire.ask(wire.sse(*odd[:-1], wire.chunk({"content": "a"}, "stop")))).message == Message(role="assistant", content="a")


async def test_a_call_keeps_its_place_among_text(wire: Any) -> None:
    answer = await wire.ask(
        wire.sse(
            wire.chunk({"content": "Let me look."}), wire.calls(wire.fragment("f", "{}", index=0, id="a")), wire.chunk(finish="tool_calls")
        )
    )
    assert answer.message == Message(role="assistant", content="Let me look.", tool_calls=(ToolCall("a", "f"),))
