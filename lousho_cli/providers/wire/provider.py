"""The loop that asks a model over HTTP, the same on every wire. Asks once and never retries.

What is particular to a wire comes in as a ``Wire``: how a request is written, and a builder
that folds the events of its answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any, Protocol
from uuid import uuid4

from lousho_cli.core.failures import Failure
from lousho_cli.errors import ProviderError
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import ModelRequest, ProviderEvent
from lousho_cli.providers.wire.client import HttpClient, Reply
from lousho_cli.providers.wire.errors import failure_error, refused, with_request_id, without_secrets
from lousho_cli.providers.wire.reading import AnswerBuilder, AnswerReader
from lousho_cli.providers.wire.settings import Settings


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
        told: Mapping[str, str] = {}
        try:
            async with self._http.post(settings.url, body, headers) as reply:
                told = reply.headers
                if reply.status != 200:
                    raise await self._refusal(reply)
                reader = AnswerReader(builder)
                async with aclosing(reply.chunks(builder)) as pieces:
                    async for piece in pieces:
                        for delta in reader.take(piece):
                            yield delta
                        if reader.over:
                            await _drain(pieces)
                            break
                if not reader.over:
                    for delta in reader.end():
                        yield delta
            answer = builder.answer()
        except ProviderError as error:
            raise without_secrets(with_request_id(error, told), secrets) from None
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


async def _drain(chunks: AsyncGenerator[bytes, None]) -> None:
    """Reads what stands behind the end, so that the connection can be used again; a server that leaves it open is not waited for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            async for _ in chunks:
                continue
