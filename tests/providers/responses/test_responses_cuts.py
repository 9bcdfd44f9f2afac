"""A recorded stream gives the same answer wherever the network cuts it, and the answer that its makers' own package reads in it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.domain.messages import Message, Native, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.responses.stream import ResponsesBuilder

RECORDED = (Path(__file__).parents[1] / "streams" / "responses_two_calls.sse").read_bytes()
EVENTS = [json.loads(line.removeprefix("data: ")) for line in RECORDED.decode().split("\n") if line.startswith("data: ")]
OUTPUT = EVENTS[-1]["response"]["output"]


@cache
def whole() -> Answer:
    calls = [{key: value for key, value in item.items() if key not in ("call_id", "name", "arguments")} for item in OUTPUT[2:]]
    items = [{"type": item["type"], **item} for item in [*OUTPUT[:2], *calls]]
    return Answer(
        message=Message(
            role="assistant",
            content="Ich schaue nach: Zürich und 東京\u2028é👩‍👩‍👧.",
            tool_calls=(
                ToolCall("call_zrh", "forecast", '{"city": "Zürich", "station": 2712345678901234567}'),
                ToolCall("call_tyo", "forecast", '{"city": "東京"}'),
            ),
            reasoning=(Reasoning(text="Two cities, two calls 🧭."), Reasoning(text="Ask for both.")),
            native=Native("responses:127.0.0.1", json.dumps(items, ensure_ascii=False, separators=(",", ":"))),
        ),
        finish_reason="tool_calls",
        usage=CallUsage(75, 51, cached_input_tokens=12, reasoning_tokens=9, cache_write_tokens=0),
        model="garden-1-mini",
    )


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(body)]
    return [body[a:b] for a, b in zip(edges, edges[1:], strict=False)]


async def test_case_110_one_byte_at_a_time_responses(wire: Any) -> None:
    assert await wire.ask(wire.Play([bytes((byte,)) for byte in RECORDED])) == same(whole())


async def test_case_106_a_recorded_stream_cut_at_random_responses(wire: Any) -> None:
    for step in (13, 64, 1000, 100_000):
        for line_end in (b"\n", b"\r\n", b"\r"):
            body = RECORDED.replace(b"\n", line_end)
            assert await wire.ask(wire.Play(cut(body, list(range(0, len(body), step))))) == same(whole())


async def test_a_body_that_ends_anywhere_is_the_answer_or_an_error_never_half_of_it(wire: Any) -> None:
    last = RECORDED.rindex(b"data: ")
    for stop in [*range(0, last, 211), last + 20, len(RECORDED) - 3]:
        assert (await wire.fail(wire.Play([RECORDED[:stop]]))).retryable
    for stop in (len(RECORDED) - 2, len(RECORDED) - 1):
        assert (await wire.ask(wire.Play([RECORDED[:stop]]))) == same(whole())


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_deltas_cut_and_joined_and_events_left_out_are_the_same_answer(data: st.DataObject) -> None:
    """As long as something tells the rest: each text is cut anew, what tells it once more may be missing, and so may the end's output."""
    told_by_items = data.draw(st.booleans())
    left_out = {"response.output_text.done", "response.content_part.added", "response.content_part.done", "response.in_progress"}
    left_out |= {"response.reasoning_summary_text.done", "response.function_call_arguments.done", "response.output_item.added"}
    left_out |= set() if told_by_items else {"response.output_item.done"}
    missing = data.draw(st.sets(st.sampled_from(sorted(left_out))))
    builder, deltas = ResponsesBuilder("", str), []
    for event in EVENTS:
        if event["type"] in missing:
            continue
        if event["type"] == "response.completed" and told_by_items and data.draw(st.booleans()):
            event = {**event, "response": {**event["response"], "output": []}}
        for piece in data.draw(pieces(event["delta"])) if "delta" in event else [None]:
            deltas += builder.event("", event if piece is None else {**event, "delta": piece})
    assert builder.answer() == same(whole())
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == whole().message.content
    thoughts = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    assert thoughts == "".join(block.text for block in whole().message.reasoning)


def pieces(text: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.integers(0, len(text)), max_size=4).map(
        lambda places: [text[a:b] for a, b in zip([0, *sorted(places)], [*sorted(places), len(text)], strict=True)]
    )


class same:  # noqa: N801 - reads as a word
    """An answer to compare with, whatever the order of keys in what goes back as it is."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self._told(other) == self._told(self._answer)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._answer)

    @staticmethod
    def _told(answer: Answer) -> Any:
        message = answer.message
        fields = message.content, message.tool_calls, message.reasoning
        native = json.loads(message.native.content) if message.native else None
        return fields, native, answer.finish_reason, answer.usage, answer.model


async def test_the_official_package_reads_the_same(wire: Any) -> None:
    """Its own folding of the stream, and ours."""
    from openai import AsyncOpenAI

    ours = await wire.ask(wire.Play([RECORDED]))
    wire.plays.append(wire.Play([RECORDED]))
    async with AsyncOpenAI(base_url=wire.base_url, api_key="none", max_retries=0) as client:
        async with client.responses.stream(model="m-1", input="hello") as stream:
            deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
            theirs = await stream.get_final_response()
    assert "".join(deltas) == theirs.output_text == ours.message.content
    calls = [(item.call_id, item.name, item.arguments) for item in theirs.output if item.type == "function_call"]
    assert calls == [(call.id, call.name, call.arguments) for call in ours.message.tool_calls]
    thoughts = [part.text for item in theirs.output if item.type == "reasoning" for part in item.summary]
    assert thoughts == [block.text for block in ours.message.reasoning]
    assert theirs.usage is not None
    assert ours.usage == CallUsage(
        theirs.usage.input_tokens,
        theirs.usage.output_tokens,
        cached_input_tokens=theirs.usage.input_tokens_details.cached_tokens,
        reasoning_tokens=theirs.usage.output_tokens_details.reasoning_tokens,
        cache_write_tokens=theirs.usage.input_tokens_details.cache_write_tokens,
    )
    kept = json.loads(ours.message.native.content)
    assert [item["encrypted_content"] for item in kept if item["type"] == "reasoning"] == [theirs.output[0].encrypted_content]
    assert (theirs.model, theirs.status) == (ours.model, "completed")
