"""What networks, proxies and broken servers do to an answer: it stays the same answer, or it is an error that says what to do.

Streams are read from memory where a cut must arrive exactly as it was made; what needs a connection has one.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.domain.messages import Message
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer, ModelRequest, ReasoningDelta, TextDelta

HELLO = ModelRequest(messages=(Message(role="user", content="hello"),))
ODD = {
    "text": ["Ich schaue nach: Zür", "ich und 東京\u2028\u0085", "e\u0301👩‍👩‍👧.\r\n", "data: x\n\n"],
    "thoughts": ["Two cities, ", "two calls 🧭."],
    "calls": [("call_zrh", "forecast", '{"city": "Zürich", "id": 2712345678901234567}'), ("call_tyo", "forecast", '{"city":"東京"}')],
}


class Memory:
    """A connection that gives these pieces, each as it is."""

    status = 200
    headers: dict[str, str] = {}

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: Any) -> AsyncIterator[Memory]:
        yield self

    async def chunks(self, progress: Any) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


Read = tuple[str, str, Any]
"""Streamed text, streamed reasoning, and the answer or the error."""


async def read(kind: Any, pieces: Sequence[bytes]) -> Read:
    provider = kind.provider("http://127.0.0.1:9")
    provider._http = Memory(pieces)
    events: list[Any] = []
    try:
        async for event in provider.stream(HELLO):
            events.append(event)
    except ProviderError as error:
        events.append(error)
    *deltas, last = events
    assert not any(isinstance(delta, Answer) for delta in deltas)
    texts = ("".join(delta.text for delta in deltas if isinstance(delta, of)) for of in (TextDelta, ReasoningDelta))
    return (*texts, last)


def read_now(kind: Any, pieces: Sequence[bytes]) -> Read:
    return asyncio.run(read(kind, pieces))


def streams_of(kind: Any) -> list[bytes]:
    """Recorded streams, and behind them one with everything odd in it."""
    return [*kind.recordings(), kind.stream(*ODD["text"], thoughts=ODD["thoughts"], calls=ODD["calls"])]


def cut(body: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[a:b] for a, b in zip(edges, edges[1:], strict=False)]


def test_the_streams_are_what_they_say(kind: Any, said: Any) -> None:
    text, thoughts, answer = read_now(kind, streams_of(kind)[-1:])
    assert said.heard(answer.message) == ("".join(ODD["text"]), ODD["calls"], "".join(ODD["thoughts"]))
    assert (text, thoughts) == ("".join(ODD["text"]), "".join(ODD["thoughts"]))
    assert (answer.finish_reason, answer.usage.input_tokens, answer.usage.output_tokens) == ("tool_calls", 75, 51)
    for recorded in kind.recordings():
        answer = read_now(kind, [recorded])[2]
        assert answer.message.tool_calls
        assert answer.finish_reason == "tool_calls"


# Wherever it is cut


LINES_BETWEEN = [b": ping", b":", b"retry: 10", b"id: 7", b"unknown: x", b": \xff\xfe"]
EVENTS_BETWEEN = [b": OPENROUTER PROCESSING\n\n", b"\n\n", b"event: ping\n\n", b"id: 8\n\n"]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_cuts_line_ends_and_keep_alives_change_nothing(kind: Any, data: Any) -> None:
    whole = data.draw(st.sampled_from(streams_of(kind)))
    expected = read_now(kind, [whole])
    events = re.split(rb"(?<=\n\n)", whole.replace(b"\r\n", b"\n"))
    for place in data.draw(st.lists(st.integers(0, len(events) - 1), max_size=4)):
        events.insert(place, data.draw(st.sampled_from(EVENTS_BETWEEN)))
    lines = b"".join(events).split(b"\n")
    for place in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=4)):
        lines.insert(place, data.draw(st.sampled_from(LINES_BETWEEN)))
    body = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"])).join(lines)
    assert read_now(kind, cut(body, data.draw(st.lists(st.integers(0, len(body)), max_size=40)))) == expected


async def test_one_byte_at_a_time_and_all_at_once(kind: Any, wire: Any) -> None:
    """Over a connection."""
    stream = kind.stream(*ODD["text"], calls=ODD["calls"])
    expected = (await read(kind, [stream]))[2]
    assert "\ufffd" not in expected.message.content
    for pieces in ([stream], [bytes((byte,)) for byte in stream]):
        assert await _over(kind, wire, wire.Play(pieces)) == expected


# Wherever it ends


async def test_a_stream_that_stops_is_the_whole_answer_or_an_error(kind: Any) -> None:
    """At every end of an event, and at a sample of bytes, those around the end of the answer among them."""
    for stream in streams_of(kind):
        whole, whole_from = (await read(kind, [stream]))[2], kind.whole_from(stream)
        boundaries = {match.end() for match in re.finditer(rb"\n\n", stream)}
        sample = {*boundaries, *range(0, len(stream), 29), *range(whole_from - 3, min(whole_from + 3, len(stream)))}
        for stop in sorted(sample):
            text, thoughts, last = await read(kind, [stream[:stop]])
            if stop < whole_from:
                assert isinstance(last, ProviderError), (stop, last)
                assert last.retryable, (stop, last)
                assert last.partial or not (text or thoughts)
                assert "token" not in last.detail
            else:
                assert last.message == whole.message, stop
                assert last.finish_reason == whole.finish_reason
            assert whole.message.content.startswith(text)


async def test_an_error_in_the_middle(kind: Any) -> None:
    stream = streams_of(kind)[-1]
    ends = [match.end() for match in re.finditer(rb"\n\n", stream) if match.end() < kind.whole_from(stream)]
    for end in ends:
        text, _, error = await read(kind, [stream[:end], kind.error("The engine broke."), stream[end:]])
        assert isinstance(error, ProviderError)
        assert (error.category, error.retryable) == ("server", True)
        assert "The engine broke." in error.detail
        assert error.partial or not text


# What is no stream


@pytest.mark.parametrize(
    ("body", "retryable"),
    [
        (b"", True),
        (b"\n\n: nothing\n\n", True),
        (b"data: \n\n", True),
        (b"data: nonsense\n\n", True),
        (b"data: [1,2]\n\n", True),
        (b"data: null\n\n", True),
        (b"{}", True),
        (b"[]", True),
        (b"<!DOCTYPE html><title>502 Bad Gateway</title>", False),
        (b"\xef\xbb\xbf \n<html>", False),
        (b"upstream connect error or disconnect/reset before headers", True),
        (b"\x00\xff\xfe\x80", True),
    ],
)
async def test_a_success_that_is_no_answer(kind: Any, body: bytes, retryable: bool) -> None:
    text, thoughts, error = await read(kind, [body])
    assert isinstance(error, ProviderError), error
    assert (error.retryable, error.partial, text, thoughts) == (retryable, False, "", "")
    assert "<" not in error.detail
    if not retryable:
        assert error.hint == "Check base_url."


@pytest.mark.parametrize("junk", [b"data: {\n\n", b"data: 7\n\n", b"data: null\n\n", b"data: []\n\n", b'data: "x"\n\n'])
async def test_an_event_in_the_middle_that_can_not_be_read(kind: Any, junk: bytes) -> None:
    events = kind.written(*ODD["text"])
    text, _, error = await read(kind, [*events[:-4], junk, *events[-4:]])
    assert isinstance(error, ProviderError), error
    assert (error.category, error.retryable, error.partial) == ("server", True, True)
    assert "".join(ODD["text"]).startswith(text)


async def test_events_nobody_knows_change_nothing(kind: Any) -> None:
    """Servers add events; those that read them do not end."""
    events = kind.written(*ODD["text"])
    new = b'event: something.new\ndata: {"type": "something.new", "value": {"deep": [1, null]}, "index": 9}\n\n'
    mixed = [piece for event in events for piece in (new, event)]
    assert await read(kind, mixed) == await read(kind, events)


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "text/html; charset=latin-1", "nonsense", ""])
async def test_a_wrong_content_type(kind: Any, wire: Any, content_type: str) -> None:
    """What it is shows by how it begins; servers are careless with the name."""
    stream = streams_of(kind)[-1]
    answer = await _over(kind, wire, wire.Play([stream], headers={"content-type": content_type}))
    assert answer == (await read(kind, [stream]))[2]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_compressed_stream(kind: Any, wire: Any, coding: str) -> None:
    stream = streams_of(kind)[-1]
    packed = gzip.compress(stream) if coding == "gzip" else zlib.compress(stream)
    headers = {"content-type": "text/event-stream", "content-encoding": coding}
    pieces = [packed[at : at + 50] for at in range(0, len(packed), 50)]
    assert await _over(kind, wire, wire.Play(pieces, headers=headers)) == (await read(kind, [stream]))[2]
    with pytest.raises(ProviderError) as caught:
        await _over(kind, wire, wire.Play(pieces[: len(pieces) // 2], headers=headers))
    assert caught.value.retryable
    with pytest.raises(ProviderError) as caught:
        await _over(kind, wire, wire.Play([stream], headers=headers))
    assert (caught.value.category, caught.value.retryable, caught.value.partial) == ("server", True, False)


# What is large


NUMBERS = '{"id":2712345678901234567,"x":9007199254740993,"y":1000000000000000000000000000000,"z":-18446744073709551617,"e":1e400}'


async def test_integers_keep_every_digit(kind: Any, said: Any) -> None:
    answer = (await read(kind, [kind.stream(calls=[("call_1", "f", NUMBERS)])]))[2]
    assert said.heard(answer.message)[1] == [("call_1", "f", NUMBERS)]


async def test_a_megabyte_in_one_event(kind: Any, said: Any) -> None:
    text, arguments = "ä" * 500_000, json.dumps({"text": "x" * 1_000_000})
    stream = kind.stream(text, calls=[("call_1", "f", arguments)], piece=2_000_000)
    for size in (65_536, len(stream)):
        streamed, _, answer = await read(kind, [stream[at : at + size] for at in range(0, len(stream), size)])
        assert said.heard(answer.message) == (text, [("call_1", "f", arguments)], "")
        assert streamed == text


async def test_ten_thousand_tiny_events(kind: Any, said: Any) -> None:
    pieces = [f"{number} " for number in range(5_000)]
    arguments = json.dumps({"text": "x" * 5_000})
    stream = kind.stream(*pieces, calls=[("call_1", "f", arguments)], piece=1)
    streamed, _, answer = await read(kind, [stream[at : at + 16_384] for at in range(0, len(stream), 16_384)])
    assert said.heard(answer.message) == ("".join(pieces), [("call_1", "f", arguments)], "")
    assert streamed == "".join(pieces)


async def _over(kind: Any, wire: Any, play: Any) -> Any:
    """The answer to one request over a connection."""
    wire.plays.append(play)
    provider = kind.provider(wire.root)
    try:
        *_, answer = [event async for event in provider.stream(HELLO)]
    finally:
        await provider.aclose()
    return answer
