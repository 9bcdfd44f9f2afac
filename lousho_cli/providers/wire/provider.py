"""The loop that asks a model over HTTP, the same on every wire. Asks once and never retries.

What is particular to a wire comes in as a ``Wire``: how a request is written, and a builder
that folds the events of its answer. The loop knows only three kinds of answers: events, one
JSON value of a server that does not stream, and what is neither.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from typing import Any, Protocol
from uuid import uuid4

import msgspec

from lousho_cli.core.failures import Failure
from lousho_cli.errors import ProviderError
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, ReasoningDelta, TextDelta
from lousho_cli.providers.wire.client import HttpClient, Reply
from lousho_cli.providers.wire.errors import (
    error_of,
    failure_error,
    malformed_error,
    refused,
    stream_error,
    without_secrets,
)
from lousho_cli.providers.wire.settings import Settings
from lousho_cli.providers.wire.sse import EventReader

Delta = TextDelta | ReasoningDelta
Deltas = AsyncGenerator[Delta, None]
_MARK = 32  # bytes: what ``[DONE]`` with blanks around it may take
_decode = msgspec.json.Decoder().decode


class AnswerBuilder(Protocol):
    """Folds what a server sends into deltas and one answer. Each method may raise ``ProviderError``."""

    @property
    def partial(self) -> bool:
        """Whether text, reasoning or a call has come."""

    @property
    def ended(self) -> bool:
        """Whether the end mark has come: losing the connection now loses nothing of the answer."""

    @property
    def closed(self) -> bool:
        """Whether nothing that belongs to the answer can come any more."""

    def event(self, name: str, value: Any) -> Iterator[Delta]:
        """Takes one event of a stream; ``name`` is empty where the server gave none."""

    def whole(self, value: Any) -> Iterator[Delta]:
        """Takes the answer of a server that does not stream."""

    def done(self) -> None:
        """Takes ``[DONE]``."""

    def answer(self) -> Answer:
        """The whole answer. Refuses one that stopped before its end mark."""


class Wire(Protocol):
    """How one kind of server is spoken to."""

    def encode(self, request: ModelRequest, model: str) -> bytes:
        """The body of a request. The same transcript gives the same bytes, in every process."""

    def builder(self, model: str, new_id: Any) -> AnswerBuilder:
        """A builder for one answer. ``model`` stands in where the server names none; ``new_id`` gives ids to calls without one."""


class WireProvider:
    """A model behind an HTTP server. Its subclasses say what can be configured, and which wire it is."""

    name = ""

    def __init__(self, model: str | None, settings: Settings, wire: Wire, clock: Clock | None) -> None:
        self._model, self._settings, self._wire, self._clock = model, settings, wire, clock
        self._http = HttpClient(settings.where, settings.limits, settings.route)

    @property
    def model(self) -> str | None:
        return self._model

    @property
    def address(self) -> str:
        """The server's address, without user, password or query."""
        return self._settings.where

    @property
    def settings(self) -> Settings:
        return self._settings

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Asks once: deltas as they come, then exactly one ``Answer``.

        Raises:
            ProviderError: see ``ports.provider``.
        """
        model = request.model or self._model
        if not model:
            raise failure_error(Failure("bad-request", False), "no model is named, neither by the agent nor by its provider")
        settings = self._settings
        headers, secrets = await settings.headers_now()
        body = self._wire.encode(request, model)
        builder = self._wire.builder(model, self._new_id)
        try:
            async with self._http.post(settings.url, body, headers) as reply:
                if reply.status != 200:
                    raise await self._refusal(reply)
                async with aclosing(_read(reply, builder)) as deltas:
                    async for delta in deltas:
                        yield delta
            answer = builder.answer()
        except ProviderError as error:
            raise without_secrets(error, secrets) from None
        yield answer

    async def aclose(self) -> None:
        """Closes the connections. Safe to call twice; the next call opens new ones."""
        await self._http.aclose()

    async def _refusal(self, reply: Reply) -> ProviderError:
        return refused(reply.status, reply.headers, await reply.error_body(), self._now_ms())

    def _now_ms(self) -> int:
        return self._clock.now_ms() if self._clock else time.time_ns() // 1_000_000

    def _new_id(self) -> str:
        return self._clock.new_id() if self._clock else uuid4().hex[:12]


async def _read(reply: Reply, builder: AnswerBuilder) -> Deltas:
    """The deltas of a successful answer, told apart by how it begins: events, one JSON value, or a page that is neither."""
    async with aclosing(reply.chunks(builder)) as chunks:
        start = b""
        async for chunk in chunks:
            start = (start + chunk).removeprefix(b"\xef\xbb\xbf").lstrip()
            if start:
                break
        if not start:
            raise malformed_error("it is empty")
        if start[:1] == b"<":
            error = malformed_error("an HTML page instead of events")
            error.retryable, error.hint = False, "Check base_url."
            raise error
        async with aclosing(_whole(start, chunks, builder) if start[:1] in b"{[" else _events(start, chunks, builder)) as deltas:
            async for delta in deltas:
                yield delta


async def _whole(start: bytes, chunks: AsyncGenerator[bytes, None], builder: AnswerBuilder) -> Deltas:
    """A server that does not stream: one JSON value, which is an end mark in itself."""
    rest = [chunk async for chunk in chunks]
    value = _parsed(b"".join((start, *rest)), builder)
    for delta in builder.whole(value[0] if isinstance(value, list) and value else value):
        yield delta
    builder.done()


async def _events(start: bytes, chunks: AsyncGenerator[bytes, None], builder: AnswerBuilder) -> Deltas:
    reader = EventReader()
    events, at_end, seen = reader.feed(start), False, False
    while True:
        for name, data in events:
            seen = True
            if data == b"[DONE]" or (len(data) < _MARK and data.strip() == b"[DONE]"):
                builder.done()
                await _drain(chunks)
                return
            if at_end and not _is_json(data):
                return  # the connection was cut in the middle of an event
            value = _parsed(data, builder)
            if name == "error":
                raise stream_error(*(error_of(value) or ("", str(value))), partial=builder.partial)
            for delta in builder.event(name, value):
                yield delta
        if builder.closed:
            await _drain(chunks)
            return
        if at_end:
            break
        try:
            events = reader.feed(await anext(chunks))
        except StopAsyncIteration:
            events, at_end = reader.end(), True
    if not seen:
        raise malformed_error("there is no event in it")


async def _drain(chunks: AsyncGenerator[bytes, None]) -> None:
    """Reads what stands behind the end, so that the connection can be used again; a server that leaves it open is not waited for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            async for _ in chunks:
                continue


def _is_json(data: bytes) -> bool:
    try:
        _loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(data: bytes, builder: AnswerBuilder) -> Any:
    try:
        return _loads(data)
    except (ValueError, RecursionError):
        raise malformed_error("a part of it is not JSON", partial=builder.partial) from None


def _loads(data: bytes) -> Any:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Slower, but takes what servers send: control characters as they are, and half a character by itself.
        return json.loads(data.decode("utf-8", "replace"), strict=False)
