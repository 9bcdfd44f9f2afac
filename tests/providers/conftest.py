"""A model server on loopback that plays bytes exactly as told, one connection at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from lousho_cli.domain.messages import Message
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, TextDelta
from lousho_cli.providers.chat.provider import OpenAIProvider


@dataclass
class Play:
    """One answer: the pieces of its body, each written by itself. ``end`` is how it stops.

    close: whole, by closing. cut: promised more than it sent. hang: the connection stays open.
    """

    pieces: Sequence[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    end: str = "close"


@dataclass
class Seen:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class PlayServer:
    """Plays its answers in order, and keeps the requests."""

    def __init__(self) -> None:
        self.plays: list[Play] = []
        self.seen: list[Seen] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._open: list[asyncio.StreamWriter] = []

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> PlayServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        self.seen.append(Seen(first.split()[1], headers, raw))
        play = self.plays.pop(0)
        sent = dict(play.headers) | {"connection": "close"}
        if play.end == "cut":
            sent["content-length"] = str(sum(map(len, play.pieces)) + 10)
        writer.write(f"HTTP/1.1 {play.status} X\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in sent.items()) + b"\r\n")
        for piece in play.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if play.end != "hang":
            writer.close()


class HandClock:
    """A clock that stands still: sleeping moves it and is noted."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.ms = now_ms
        self.slept: list[float] = []
        self.ids = 0

    def now(self) -> str:
        return "2023-11-14T22:13:20.000Z"

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ms += round(seconds * 1000)

    def new_id(self) -> str:
        self.ids += 1
        return f"{self.ids:012x}"

    def chance(self) -> float:
        return 0.5


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


HELLO = ModelRequest(messages=(Message(role="user", content="hello"),))


class Wire(PlayServer):
    """The server, and what tests say over and over."""

    hello = HELLO

    def __init__(self, clock: HandClock) -> None:
        super().__init__()
        self.clock = clock
        self._opened: list[OpenAIProvider] = []
        self.Play = Play

    async def ask(self, play: bytes | Play, request: ModelRequest = HELLO, **options: Any) -> Answer:
        """Plays one answer and asks for it."""
        self.plays.append(play if isinstance(play, Play) else Play([play]))
        return await self.answer(self.provider(**options), request)

    async def fail(self, play: bytes | Play, request: ModelRequest = HELLO, **options: Any) -> ProviderError:
        """Plays one answer that must end in an error."""
        with pytest.raises(ProviderError) as caught:
            await self.ask(play, request, **options)
        assert caught.value.__suppress_context__, "the driver's own error must not be shown below ours"
        return caught.value

    def provider(self, **options: Any) -> OpenAIProvider:
        provider = OpenAIProvider("m-1", **{"base_url": self.base_url, "clock": self.clock, **options})
        self._opened.append(provider)
        return provider

    async def stop(self) -> None:
        for provider in self._opened:
            await provider.aclose()
        await super().stop()

    @staticmethod
    async def events(provider: Any, request: ModelRequest = HELLO) -> list[ProviderEvent]:
        return [event async for event in provider.stream(request)]

    async def answer(self, provider: Any, request: ModelRequest = HELLO) -> Answer:
        """The answer, which stands at the end alone and holds what was streamed."""
        *deltas, last = await self.events(provider, request)
        assert isinstance(last, Answer)
        assert not any(isinstance(delta, Answer) for delta in deltas)
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == last.message.content
        return last

    @staticmethod
    def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
        """A chunk with one choice."""
        return {"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}

    @classmethod
    def calls(cls, *fragments: dict[str, Any]) -> dict[str, Any]:
        """A chunk whose delta is a list of call fragments."""
        return cls.chunk({"tool_calls": list(fragments)})

    @staticmethod
    def fragment(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
        function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
        return {**more, "type": "function", "function": function}

    @staticmethod
    def sse(*chunks: dict[str, Any], done: bool = True) -> bytes:
        """Chunks as events, with the end mark."""
        lines = [f"data: {json.dumps(item, ensure_ascii=False)}\n\n" for item in chunks]
        return ("".join(lines) + ("data: [DONE]\n\n" if done else "")).encode()

    @classmethod
    def said(cls, text: str = "hi") -> bytes:
        """A plain good answer."""
        return cls.sse(cls.chunk({"content": text}), cls.chunk(finish="stop"))


@pytest.fixture
async def wire(clock: HandClock) -> AsyncIterator[Wire]:
    playing = Wire(clock)
    await playing.start()
    yield playing
    await playing.stop()
