"""Recorded Messages streams, cut and joined: the same answer wherever the network breaks them, and never half of one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.anthropic.stream import MessagesBuilder
from lousho_cli.providers.wire.sse import EventReader
from tests.providers import messages_server as m
from tests.providers.conftest import Wire

RECORDED = [(m.STREAMS / f"anthropic_{name}.sse").read_bytes() for name in ("empty_arguments", "thinking_and_call", "answer")]
MIXED = m.answer(
    m.thinking("Zürich? 🧭\u2028", "s/+=="),
    m.said("Ich schaue nach: 東京 👩‍👩‍👧."),
    {"type": "redacted_thinking", "data": "q/Zz="},
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "é", "n": 2712345678901234567}},
    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web_search_result", "title": "東"}]},
    m.call("c1", "forecast", city="Zürich", station=2712345678901234567),
)
STREAMS = [*RECORDED, MIXED]


def read(pieces: list[bytes]) -> tuple[Answer, str, str]:
    """The answer, and the text and the thinking that were streamed before it."""
    reader, builder, deltas = EventReader(), MessagesBuilder("claude-x", lambda: "1"), []
    for name, data in [event for piece in pieces for event in reader.feed(piece)] + reader.end():
        deltas += builder.event(name, json.loads(data))
    said = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    return builder.answer(), said, "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(body) for place in places), len(body)]
    return [body[a:b] for a, b in zip(edges, edges[1:], strict=False)]


WHOLE = [read([body]) for body in STREAMS]


def test_what_is_streamed_is_what_the_answer_holds() -> None:
    for answer, said, thought in WHOLE:
        assert answer.message.content == said
        assert "".join(block.text for block in answer.message.reasoning) == thought


@given(st.integers(0, len(STREAMS) - 1), st.lists(st.integers(0, 10_000), max_size=60), st.sampled_from([b"\n", b"\r\n", b"\r"]))
@settings(max_examples=150, deadline=None)
def test_cuts_and_line_ends_change_nothing(which: int, places: list[int], line_end: bytes) -> None:
    assert read(cut(STREAMS[which].replace(b"\n", line_end), places)) == WHOLE[which]


@given(st.integers(0, len(STREAMS) - 1), st.data())
@settings(max_examples=60, deadline=None)
def test_events_nobody_knows_change_nothing_wherever_they_stand(which: int, data: Any) -> None:
    parts = STREAMS[which].split(b"\n\n")
    at = data.draw(st.integers(0, len(parts) - 2))
    odd = [b"event: ping\ndata: {}", b": comment", b'event: later\ndata: {"type":"later","delta":{"text":"x"}}']
    parts[at:at] = data.draw(st.lists(st.sampled_from(odd), max_size=3))
    assert read([b"\n\n".join(parts)]) == WHOLE[which]


@pytest.mark.parametrize("which", range(len(STREAMS)))
def test_a_stream_that_stops_anywhere_is_never_an_answer(which: int) -> None:
    events = STREAMS[which].split(b"\n\n")
    for count in range(len(events) - 1):
        if b"message_stop" not in b"".join(events[:count]):
            with pytest.raises(ProviderError) as caught:
                read([b"\n\n".join(events[:count]) + b"\n\n"])
            assert caught.value.retryable


async def test_over_real_sockets(wire: Wire) -> None:
    asks = m.spoken(wire)
    for which, body in enumerate(STREAMS):
        for step in (1, 64) if body is RECORDED[0] else (7, 100_000):
            expected = WHOLE[which][0]
            assert await asks.ask(asks.Play(cut(body, list(range(0, len(body), step))))) == expected  # type: ignore[attr-defined]
        stopped = asks.Play([body[: body.index(b"event: message_delta")]], end="cut")  # type: ignore[attr-defined]
        assert (await asks.fail(stopped)).retryable
