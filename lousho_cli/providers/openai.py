"""Any chat-completions server, by its address, streamed. Asks once and never retries."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any, Literal
from uuid import uuid4

import msgspec

from lousho_cli.core.retry import Failure, parse_retry_after
from lousho_cli.errors import ProviderError
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import ModelRequest, ProviderEvent, ReasoningDelta, TextDelta
from lousho_cli.providers.http_errors import (
    body_message,
    error_of,
    failure_error,
    malformed_error,
    status_error,
    stream_error,
    without_secrets,
)
from lousho_cli.providers.http_stream import HttpClient, Reply, TimeLimits
from lousho_cli.providers.openai_request import encode_request
from lousho_cli.providers.openai_settings import Settings, settings_from
from lousho_cli.providers.openai_stream import AnswerBuilder
from lousho_cli.providers.sse import EventReader

Deltas = AsyncGenerator[TextDelta | ReasoningDelta, None]


class OpenAIProvider:
    """A chat-completions server.

    Args:
        model: what to ask for when the request names none.
        base_url: up to and including its version (``http://127.0.0.1:11434/v1``); default: ``OPENAI_BASE_URL``,
            else OpenAI's own.
        api_key_env: the environment variable with the key, read at each call; empty for none. A server on
            this machine needs no key.
        headers: sent with each request.
        extra_body: further fields of the request, such as ``temperature``.
        empty_content: the content of an answer that is only tool calls, as sent back: None or ``""``.
        connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms: to connect, until the first byte of
            the answer, and between two pieces of it.
        clock: for the distance of an HTTP date and for the ids of calls that came without; default: the system's.

    Raises:
        ConfigurationError: a value that can not be used; ``field`` is ``provider.NAME``.
        RangeError: a time limit below 1.
    """

    name = "openai"

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        empty_content: Literal[""] | None = None,
        connect_timeout_ms: int = 10_000,
        first_byte_timeout_ms: int = 300_000,
        idle_timeout_ms: int = 120_000,
        clock: Clock | None = None,
    ) -> None:
        limits = TimeLimits(connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms)
        self._settings: Settings = settings_from(base_url, api_key_env, headers or {}, extra_body or {}, empty_content, limits)
        self._model = model
        self._clock = clock
        self._http = HttpClient(self._settings.where, limits, local=self._settings.local)

    @property
    def model(self) -> str | None:
        return self._model

    @property
    def address(self) -> str:
        """The server's address, without user, password or query."""
        return self._settings.where

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Asks once: deltas as they come, then exactly one ``Answer``.

        Raises:
            ProviderError: see ``ports.provider``.
        """
        model = request.model or self._model
        if not model:
            raise failure_error(Failure("bad-request", False), "no model is named, neither by the agent nor by its provider")
        settings = self._settings
        headers, secrets = settings.headers_now()
        body = encode_request(request, model, settings.extra_body, settings.empty_content)
        builder = AnswerBuilder(model, self._new_id)
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
        code, message = body_message(await reply.error_body())
        if 300 <= reply.status < 400:
            message = "it redirects to another address, where the key is not sent"
        return status_error(reply.status, message, code=code, retry_after_ms=parse_retry_after(reply.headers, self._now_ms()))

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
    value = _parsed(b"".join((start, *rest)).decode("utf-8", "replace"), builder)
    for delta in builder.chunk(value[0] if isinstance(value, list) and value else value):
        yield delta
    builder.done()


async def _events(start: bytes, chunks: AsyncGenerator[bytes, None], builder: AnswerBuilder) -> Deltas:
    reader = EventReader()
    events, at_end, seen = reader.feed(start), False, False
    while True:
        for event in events:
            seen = True
            if event.data.strip() == "[DONE]":
                builder.done()
                await _drain(chunks)
                return
            if at_end and not _is_json(event.data):
                return  # the connection was cut in the middle of an event
            value = _parsed(event.data, builder)
            if event.event == "error":
                raise stream_error(*(error_of(value) or ("", event.data)), partial=builder.partial)
            for delta in builder.chunk(value):
                yield delta
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


def _is_json(text: str) -> bool:
    try:
        _loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(text: str, builder: AnswerBuilder) -> Any:
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        raise malformed_error("a part of it is not JSON", partial=builder.partial) from None


def _loads(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # Slower, but takes what servers send: control characters as they are, and half a character by itself.
        return json.loads(text, strict=False)
