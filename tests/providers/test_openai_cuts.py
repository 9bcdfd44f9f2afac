"""A recorded stream gives the same answer wherever the network cuts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import Answer
from lousho_cli.providers.wire.sse import EventReader

RECORDED = (Path(__file__).parent / "streams" / "two_calls.sse").read_bytes()

WHOLE = Answer(
    message=Message(
        role="assistant",
        content="Ich schaue nach: Zürich und 東京\u2028é👩‍👩‍👧.",
        tool_calls=(
            ToolCall("call_zrh", "forecast", '{"city": "Zürich", "station": 2712345678901234567}'),
            ToolCall("call_tyo", "forecast", '{"city": "東京"}'),
        ),
        reasoning=(Reasoning(text="Two cities, two calls 🧭."),),
    ),
    finish_reason="tool_calls",
    usage=CallUsage(input_tokens=75, output_tokens=51, cached_input_tokens=12, reasoning_tokens=9),
    model="garden-1-mini",
)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(body)]
    return [body[a:b] for a, b in zip(edges, edges[1:], strict=False)]


def data_of(pieces: list[bytes]) -> list[str]:
    reader = EventReader()
    return [event.data.decode() for piece in pieces for event in reader.feed(piece)] + [event.data.decode() for event in reader.end()]


@given(st.lists(st.integers(0, len(RECORDED)), max_size=60), st.sampled_from([b"\n", b"\r\n", b"\r"]))
@settings(max_examples=150, deadline=None)
def test_cuts_and_line_ends_change_no_event(places: list[int], line_end: bytes) -> None:
    body = RECORDED.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    assert data_of(cut(body, places)) == data_of([RECORDED])


async def test_case_110_one_byte_at_a_time(wire: Any) -> None:
    answer = await wire.ask(wire.Play([bytes((byte,)) for byte in RECORDED]))
    assert answer == WHOLE
    assert "\ufffd" not in answer.message.content


async def test_case_106_a_recorded_stream_cut_at_random(wire: Any) -> None:
    """Over real sockets: a stretch of cuts around each place where a character, a line end or an event may break."""
    for step in (2, 3, 5, 7, 11, 64, 1000, 100_000):
        assert await wire.ask(wire.Play(cut(RECORDED, list(range(0, len(RECORDED), step))))) == WHOLE


async def test_a_body_that_ends_anywhere_is_the_answer_or_an_error_never_half_of_it(wire: Any) -> None:
    ended = RECORDED.index(b'"finish_reason": "tool_calls"')
    event_end = RECORDED.index(b"\n", ended)
    for stop in range(0, len(RECORDED), 37):
        if stop < event_end - 20:
            error = await wire.fail(wire.Play([RECORDED[:stop]]))
            assert error.retryable
        elif stop > event_end:
            assert (await wire.ask(wire.Play([RECORDED[:stop]]))).message == WHOLE.message
