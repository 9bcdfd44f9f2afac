"""What Responses servers really stream, and the answer that must come of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import ModelRequest, ReasoningDelta, TextDelta


def calls_of(answer: Any) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in answer.message.tool_calls]


def without(events: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"].removeprefix("response.") not in kinds]


async def test_text_and_reasoning_come_as_they_are_streamed(wire: Any, say: Any) -> None:
    wire.plays.append(wire.Play([say.answer(say.reasoning("hm", "so"), say.text("a", "b", at=1))]))
    events = await wire.events(wire.provider())
    assert events[:-1] == [ReasoningDelta("hm"), ReasoningDelta("so"), TextDelta("a"), TextDelta("b")]
    message = events[-1].message
    assert (message.content, message.reasoning) == ("ab", (Reasoning(text="hm"), Reasoning(text="so")))
    assert (events[-1].finish_reason, events[-1].usage, events[-1].model) == ("stop", None, "m-1")


async def test_a_plain_answer_is_kept_once(wire: Any, say: Any) -> None:
    answer = await wire.ask(say.answer(say.text("Let me look."), say.call("f", '{"a":', "1}", at=1)))
    assert answer.message == Message(role="assistant", content="Let me look.", tool_calls=(ToolCall("call_1", "f", '{"a":1}'),))
    assert answer.finish_reason == "tool_calls"


@pytest.mark.parametrize("lie", ["nothing", "index 0 everywhere", "no index", "no index but announced", "no id", "another id each time"])
async def test_case_087_interleaved_items_belong_to_their_place_responses(wire: Any, say: Any, lie: str) -> None:
    first, second = say.call("f", '{"t"', ':"A"}', at=0, call_id="a"), say.call("g", '{"t"', ':"B"}', at=1, id="fc_2", call_id="b")
    events = [event for pair in zip(first.events, second.events, strict=True) for event in pair]
    for number, event in enumerate(events):
        if lie == "index 0 everywhere":
            event["output_index"] = 0
        elif lie == "no index" or (lie == "no index but announced" and event["type"] != "response.output_item.added"):
            del event["output_index"]
        elif lie in ("no id", "another id each time"):
            new = {} if lie == "no id" else {"id": f"x{number}"}
            if "item" in event:
                event["item"] = {key: value for key, value in event["item"].items() if key != "id"} | new
            else:
                event |= {"item_id": new.get("id")}
    for output in ([first.item, second.item], []):
        answer = await wire.ask(say.sse(*events, say.end(*output)))
        assert calls_of(answer) == [("a", "f", '{"t":"A"}'), ("b", "g", '{"t":"B"}')]


@pytest.mark.parametrize("ids", [("fc_1", "fc_2"), ("fc_1", "fc_1"), (None, None)])
async def test_case_088_every_item_stands_in_place_0_responses(wire: Any, say: Any, ids: tuple[Any, Any]) -> None:
    blocks = [say.call(name, f'{{"n":"{name}"}}', id=id, call_id=name) for name, id in zip("fg", ids, strict=True)]
    events = [event for block in blocks for event in block.events]
    assert calls_of(await wire.ask(say.sse(*events, say.end()))) == [("f", "f", '{"n":"f"}'), ("g", "g", '{"n":"g"}')]


@pytest.mark.parametrize("told_in", [["output_item.done"], ["output_item.added", "function_call_arguments.done"]])
async def test_case_088_another_call_under_the_same_id_and_place_responses(wire: Any, say: Any, told_in: list[str]) -> None:
    blocks = [say.call("f", f'{{"n":{call_id}}}', call_id=call_id) for call_id in ("1", "2")]
    events = [event for block in blocks for event in block.events if event["type"].removeprefix("response.") in told_in]
    assert calls_of(await wire.ask(say.sse(*events, say.end()))) == [("1", "f", '{"n":1}'), ("2", "f", '{"n":2}')]
    twice = [event for event in blocks[0].events for _ in range(1 if "delta" in event else 2)]
    assert calls_of(await wire.ask(say.sse(*twice, say.end()))) == [("1", "f", '{"n":1}')]


async def test_case_089_items_without_place_and_id_responses(wire: Any, say: Any) -> None:
    blocks = [say.text("hm"), say.call("f", "{", "}", call_id="a"), say.call("g", '{"n":', "1}", call_id="b")]
    events = [event for block in blocks for event in block.events]
    for event in events:
        for key in ("output_index", "item_id"):
            event.pop(key, None)
        event.get("item", {}).pop("id", None)
    answer = await wire.ask(say.sse(*events, say.end()))
    assert (answer.message.content, calls_of(answer)) == ("hm", [("a", "f", "{}"), ("b", "g", '{"n":1}')])


@pytest.mark.parametrize("left_out", ["output_item.added", "output_item.done", "nothing"])
async def test_case_089_texts_without_place_and_id_responses(wire: Any, say: Any, left_out: str) -> None:
    events = [event for block in (say.text("a", "b"), say.text("c", phase="final_answer")) for event in without(block.events, left_out)]
    for event in events:
        for key in ("output_index", "item_id"):
            event.pop(key, None)
        event.get("item", {}).pop("id", None)
    answer = await wire.ask(say.sse(*events, say.end()))
    assert answer.message.content == "abc"
    kept = json.loads(answer.message.native.content)
    assert [[part["text"] for part in item["content"]] for item in kept] == [["ab"], ["c"]]
    assert [item["status"] for item in kept] == ["completed"] * 2


async def test_items_are_ordered_by_their_place_not_by_their_arrival(wire: Any, say: Any) -> None:
    events = [*say.call("g", "{}", at=1, id="fc_2", call_id="b").events, *say.call("f", "{}", at=0, call_id="a").events]
    assert [call[0] for call in calls_of(await wire.ask(say.sse(*events, say.end())))] == ["a", "b"]


async def test_deltas_without_the_items_that_announce_them(wire: Any, say: Any) -> None:
    blocks = [say.reasoning("hm"), say.text("a", "b", at=1), say.call("f", '{"n":', "1}", at=2)]
    for left_out in (["output_item.added", "content_part.added"], ["output_item.added", "output_item.done", "content_part.done"]):
        events = [event for block in blocks for event in without(block.events, *left_out)]
        answer = await wire.ask(say.sse(*events, say.end(*(block.item for block in blocks))))
        assert (answer.message.content, answer.message.reasoning) == ("ab", (Reasoning(text="hm"),))
        assert calls_of(answer) == [("call_1", "f", '{"n":1}')]


@pytest.mark.parametrize("told_in", ["output_text.done", "content_part.done", "output_item.done", "completed", "output_item.added"])
async def test_text_that_is_told_only_whole_is_streamed_then(wire: Any, say: Any, told_in: str) -> None:
    block = say.text("all of it")
    if told_in == "output_item.added":
        block.events[0]["item"] = block.item
    events = [event for event in block.events if event["type"].removeprefix("response.") in (told_in, "output_item.added")]
    wire.plays.append(wire.Play([say.sse(*events, say.end(*([block.item] if told_in == "completed" else [])))]))
    *deltas, answer = await wire.events(wire.provider())
    assert (deltas, answer.message.content) == ([TextDelta("all of it")], "all of it")


async def test_a_finished_response_that_says_more_than_was_streamed(wire: Any, say: Any) -> None:
    streamed, told = say.text("one ").events[:-3], say.text("one two").item
    wire.plays.append(wire.Play([say.sse(*streamed, say.end(told))]))
    *deltas, answer = await wire.events(wire.provider())
    assert (deltas, answer.message.content) == ([TextDelta("one "), TextDelta("two")], "one two")


async def test_a_finished_response_counts_before_what_was_streamed(wire: Any, say: Any) -> None:
    text, call = say.text("wrnog"), say.call("f", '{"n":', at=1)
    events = [*text.events[:3], *call.events[:2]]
    told = say.text("right").item, say.call("f", '{"n":2}', at=1).item
    wire.plays.append(wire.Play([say.sse(*events, say.end(*told))]))
    *_, answer = await wire.events(wire.provider())
    assert (answer.message.content, calls_of(answer)) == ("right", [("call_1", "f", '{"n":2}')])


async def test_a_finished_response_with_holes_loses_nothing_that_was_streamed(wire: Any, say: Any) -> None:
    """One server gives the answer's text another id there, and leaves everything else out."""
    thought, text, call = say.reasoning("hm"), say.text("a", at=1, phase="commentary"), say.call("f", '{"n":1}', at=2)
    events = [event for block in (thought, text, call) for event in block.events]
    sealed = {**thought.item, "encrypted_content": None, "summary": []}
    for output in ([say.text("a", id="msg_9").item], [{**call.item, "arguments": ""}], [sealed], []):
        answer = await wire.ask(say.sse(*events, say.end(*output)))
        assert (answer.message.content, calls_of(answer)) == ("a", [("call_1", "f", '{"n":1}')])
        kept = json.loads(answer.message.native.content)
        assert [item["type"] for item in kept] == ["reasoning", "message", "function_call"]
        assert (kept[0], kept[1]["phase"]) == (thought.item, "commentary")


async def test_deltas_that_count_their_parts_otherwise_are_no_second_text(wire: Any, say: Any) -> None:
    block = say.text("a", "b")
    for event in block.events:
        if "content_index" in event:
            event["content_index"] = 1
    assert (await wire.ask(say.answer(block))).message.content == "ab"


@pytest.mark.parametrize("missing", ["", None, "no key"])
async def test_case_091_a_call_without_id_gets_one_that_is_its_own_responses(wire: Any, say: Any, missing: Any) -> None:
    blocks = [say.call("f", "{}", at=number, id=f"fc_{number}", call_id=missing) for number in (0, 1)]
    if missing == "no key":
        for event in (event for block in blocks for event in block.events if "item" in event):
            del event["item"]["call_id"]
    stream = say.answer(*blocks)
    whole = wire.Play([json.dumps(say.response(*(block.item for block in blocks))).encode()], headers={"content-type": "application/json"})
    assert [call[0] for call in calls_of(await wire.ask(stream))] == ["call_000000000001", "call_000000000002"]
    assert len({call[0] for call in calls_of(await wire.ask(whole))} - {""}) == 2


async def test_case_092_a_repeated_id_is_made_unique_responses(wire: Any, say: Any) -> None:
    blocks = [say.call("f", f'{{"n":{number}}}', at=number, id=f"fc_{number}", call_id="dup_1") for number in range(3)]
    answer = await wire.ask(say.answer(say.reasoning(at=9), *blocks))
    assert [call[0] for call in calls_of(answer)] == ["dup_1", "dup_1_2", "dup_1_3"]
    results = [Message(role="tool", content="1", tool_call_id=call.id) for call in answer.message.tool_calls]
    await wire.ask(say.hi(), ModelRequest(messages=(*wire.hello.messages, answer.message, *results)))
    sent = [(item["type"], item["call_id"]) for item in wire.seen[-1].body["input"] if "call_id" in item]
    assert [id for _, id in sent] == ["dup_1", "dup_1_2", "dup_1_3"] * 2


@pytest.mark.parametrize("arguments", ["", "  ", None, "no key"])
async def test_case_094_blank_arguments_are_an_empty_object_responses(wire: Any, say: Any, arguments: Any) -> None:
    item = {**say.call("f").item, "arguments": arguments}
    if arguments == "no key":
        del item["arguments"]
    told = [say.event("function_call_arguments.done", item_id="fc_1", output_index=0, arguments=item.get("arguments"))]
    for events in ([], told):
        added = say.event("output_item.added", output_index=0, item=item)
        assert calls_of(await wire.ask(say.sse(added, *events, say.end(item)))) == [("call_1", "f", "{}")]


async def test_case_095_and_120_arguments_as_an_object_keep_every_digit_responses(wire: Any, say: Any) -> None:
    given = {"path": "ä.txt", "id": 2712345678901234567, "x": 9007199254740993, "y": 10**30}
    item = {**say.call("f").item, "arguments": given}
    answer = await wire.ask(say.sse(say.event("output_item.done", output_index=0, item=item), say.end()))
    assert calls_of(answer) == [
        ("call_1", "f", '{"path":"ä.txt","id":2712345678901234567,"x":9007199254740993,"y":1000000000000000000000000000000}')
    ]


async def test_case_120_arguments_are_the_models_text_responses(wire: Any, say: Any) -> None:
    text = '{ "id": 2712345678901234567,\n "x": 1.0, "x": 1e2 }'
    assert calls_of(await wire.ask(say.answer(say.call("f", *text)))) == [("call_1", "f", text)]


@pytest.mark.parametrize("told_in", [["function_call_arguments.done"], ["output_item.done"], []])
async def test_arguments_that_are_told_only_whole(wire: Any, say: Any, told_in: list[str]) -> None:
    block = say.call("f", '{"n":1}')
    events = [event for event in block.events if event["type"].removeprefix("response.") in ("output_item.added", *told_in)]
    assert calls_of(await wire.ask(say.sse(*events, say.end(*([] if told_in else [block.item]))))) == [("call_1", "f", '{"n":1}')]


async def test_arguments_that_are_announced_and_streamed_are_there_once(wire: Any, say: Any) -> None:
    block = say.call("f", '{"n":', "1}")
    block.events[0]["item"]["arguments"] = '{"n":1}'
    assert calls_of(await wire.ask(say.sse(*block.events[:-2], say.end()))) == [("call_1", "f", '{"n":1}')]


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize(
    ("details", "calls", "meant"),
    [
        ({"reason": "max_output_tokens"}, False, "length"),
        ({"reason": "max_output_tokens"}, True, "length"),
        ({"reason": "content_filter"}, False, "content_filter"),
        ({"reason": "content_filter"}, True, "length"),
        ({"reason": "what nobody knows"}, True, "length"),
        (None, True, "length"),
    ],
)
async def test_case_099_a_response_that_is_not_complete_runs_no_call_responses(
    wire: Any, say: Any, status: str, details: Any, calls: bool, meant: str
) -> None:
    """Also where the event says completed and the response in it does not."""
    block = say.call("f", '{"n":1') if calls else say.text("half")
    end = say.event(status, response=say.response(block.item, status="incomplete", incomplete_details=details))
    answer = await wire.ask(say.sse(*block.events[:2], end))
    assert answer.finish_reason == meant


async def test_a_server_that_only_tells_the_end(wire: Any, say: Any) -> None:
    items = [say.reasoning("hm").item, say.text("hi").item, say.call("f", "{}").item]
    for kind in ("completed", "done"):
        answer = await wire.ask(say.sse(say.event(kind, response=say.response(*items)), done=True))
        assert (answer.message.content, calls_of(answer)) == ("hi", [("call_1", "f", "{}")])
        assert answer.message.reasoning == (Reasoning(text="hm"),)


async def test_a_server_that_does_not_stream(wire: Any, say: Any) -> None:
    usage = {"input_tokens": 3, "output_tokens": None}
    body = say.response(say.text("hi").item, say.call("f", "{}").item, model="m-2", usage=usage)
    answer = await wire.ask(wire.Play([json.dumps(body).encode()], headers={"content-type": "application/json"}))
    assert (answer.message.content, answer.finish_reason, answer.model) == ("hi", "tool_calls", "m-2")
    assert answer.usage == CallUsage(input_tokens=3)


async def test_text_that_is_no_list_of_parts(wire: Any, say: Any) -> None:
    item = {**say.text().item, "content": "all of it"}
    for events in ([], [say.event("output_item.done", output_index=0, item=item)]):
        answer = await wire.ask(say.sse(*events, say.end(item)))
        assert answer.message == Message(role="assistant", content="all of it")


async def test_case_106_usage_at_the_end_or_never_responses(wire: Any, say: Any) -> None:
    details = {"input_tokens_details": {"cached_tokens": 7, "cache_write_tokens": 5}, "output_tokens_details": {"reasoning_tokens": 9}}
    usage = {"input_tokens": 75, "output_tokens": 51, "total_tokens": 126, "cost": 0.25, **details}
    answer = await wire.ask(say.answer(say.text("x"), usage=usage))
    assert answer.usage == CallUsage(75, 51, cached_input_tokens=7, reasoning_tokens=9, cost_usd=0.25, cache_write_tokens=5)
    for odd in (None, {}, "75", {"input_tokens": None, "output_tokens": "51", "input_tokens_details": None}):
        assert (await wire.ask(say.answer(say.text("x"), usage=odd))).usage is None


async def test_case_107_comments_are_no_events_responses(wire: Any, say: Any) -> None:
    head, tail = say.sse(*say.text("a", "b").events[:3]), say.sse(*say.text("a", "b").events[3:], say.end(say.text("ab").item))
    assert (
        await wire.ask(b": OPENROUTER PROCESSING\n\n" + head + b": ping\n\n:\n\nevent: ping\n\nretry: 5\n\n" + tail)
    ).message.text == "ab"


async def test_case_109_only_line_ends_end_lines_responses(wire: Any, say: Any) -> None:
    text = "a\u2028b\u2029c\u0085d\u000be\u000cf\u001cg"
    assert (await wire.ask(say.hi().replace(b"hi", text.encode()))).message.content == text


async def test_half_characters_in_two_escapes_are_one(wire: Any, say: Any) -> None:
    block = say.text("HIGH", "LOW", "HIGH")
    body = say.sse(*block.events[:-3], say.end()).replace(b"HIGH", rb"x\ud83d").replace(b"LOW", rb"\ude00y")
    assert (await wire.ask(body)).message.content == "x😀yx"
    call = say.answer(say.reasoning("HIGH"), say.call("f", '{"n":"HIGH', 'LOW"}', at=1)).replace(b"HIGHLOW", rb"x\ud83d\ude00y")
    answer = await wire.ask(call.replace(b"HIGH", rb"x\ud83d").replace(b"LOW", rb"\ude00y"))
    assert answer.message.tool_calls[0].arguments == '{"n":"x😀y"}'
    json.loads(answer.message.native.content.encode())


async def test_a_refusal_is_text_and_goes_back_as_it_came(wire: Any, say: Any) -> None:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    item = {**say.text().item, "content": [{"type": "refusal", "refusal": "I can not."}]}
    deltas = [say.event("refusal.delta", **place, delta=piece) for piece in ("I can", " not.")]
    answer = await wire.ask(say.sse(say.text().events[0], *deltas, say.event("refusal.done", **place, refusal="I can not."), say.end(item)))
    assert (answer.message.content, answer.finish_reason) == ("I can not.", "stop")
    assert json.loads(answer.message.native.content) == [item]


async def test_reasoning_that_is_told_openly(wire: Any, say: Any) -> None:
    place = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    added = say.reasoning(encrypted=None).events[0]
    deltas = [say.event("reasoning_text.delta", **place, delta=piece) for piece in ("first ", "then")]
    for output in ([], [say.reasoning(encrypted=None, content=[{"type": "reasoning_text", "text": "first then"}]).item]):
        answer = await wire.ask(say.sse(added, *deltas, *say.call("f", "{}", at=1).events, say.end(*output)))
        assert answer.message.reasoning == (Reasoning(text="first then"),)
        assert json.loads(answer.message.native.content)[0]["content"] == [{"type": "reasoning_text", "text": "first then"}]


async def test_odd_events_are_no_crash(wire: Any, say: Any) -> None:
    odd: list[dict[str, Any]] = [
        {"type": "keepalive"},
        {"type": None},
        {"type": ["response.created"]},
        say.event("created", response=None),
        say.event("created", response={"model": 5}),
        say.event("output_item.added", output_index=0, item=None),
        say.event("output_item.added", output_index=0, item={"type": 5}),
        say.event("output_item.done", item="x"),
        say.event("content_part.done", part=None),
        say.event("content_part.done", output_index="0", part={"type": "output_text", "text": 5}),
        say.event("output_text.delta", delta=None),
        say.event("output_text.delta", item_id={}, output_index=[], delta=""),
        say.event("output_text.done", text=None),
        say.event("output_text.annotation.added", annotation={}),
        say.event("web_search_call.searching", output_index=5),
        say.event("mcp_call.failed", error="no such tool"),
        say.event("function_call_arguments.delta", delta=None),
        say.event("something.new", delta="x"),
    ]
    body = say.sse(*odd, *say.text("a", at=7).events, say.end(None, 5, {"type": 5}, {}))
    assert (await wire.ask(body)).message == Message(role="assistant", content="a")
    nameless = say.event("output_item.done", output_index=1, item={"type": "function_call", "call_id": "a", "arguments": "{}"})
    error = await wire.fail(say.sse(nameless, say.end()))
    assert "a tool call without a name" in error.detail
    assert error.retryable


async def test_events_that_only_their_line_names(wire: Any, say: Any) -> None:
    events = [*say.text("a", "b").events, say.end(say.text("ab").item)]
    lines = [f"event: {event.pop('type')}\ndata: {json.dumps(event)}\n\n" for event in events]
    assert (await wire.ask("".join(lines).encode())).message.content == "ab"


async def test_several_texts_keep_their_order_among_calls(wire: Any, say: Any) -> None:
    blocks = [say.text("one "), say.call("f", "{}", at=1), say.text("two", at=2, id="msg_2")]
    answer = await wire.ask(say.answer(*blocks))
    assert (answer.message.content, answer.finish_reason) == ("one two", "tool_calls")
    assert [item["type"] for item in json.loads(answer.message.native.content)] == ["message", "function_call", "message"]


async def test_a_servers_own_tools_go_back_and_are_not_run_by_us(wire: Any, say: Any) -> None:
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "rain", "n": 2**63}}
    began = {**search, "status": "in_progress"}
    events = [say.event("output_item.added", output_index=0, item=began), say.event("web_search_call.searching", output_index=0)]
    text = say.text("Rain.", at=1)
    answer = await wire.ask(say.sse(*events, say.event("output_item.done", output_index=0, item=search), *text.events, say.end()))
    assert (answer.message.content, answer.message.tool_calls, answer.finish_reason) == ("Rain.", (), "stop")
    await wire.ask(say.hi(), ModelRequest(messages=(*wire.hello.messages, answer.message, Message(role="user", content="more"))))
    assert wire.seen[-1].body["input"][1:3] == [search, text.item]
