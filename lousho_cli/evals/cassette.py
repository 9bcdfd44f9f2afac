"""Recording what a model says and playing it again: a provider around another."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from lousho_cli.domain.plain import text_of
from lousho_cli.errors import ConfigurationError, ProviderError, SDKError
from lousho_cli.evals.cassette_file import Entry, Wrapped
from lousho_cli.evals.cassette_matching import Match
from lousho_cli.evals.recorded import (
    Normalize,
    Piece,
    answer_of,
    error_of,
    failure_of,
    piece_of,
    pieces_before,
    pieces_told,
    response_of,
)
from lousho_cli.evals.redact import Redact
from lousho_cli.evals.tape import Mode, Slot, Tape
from lousho_cli.ports.provider import Answer, ModelRequest, Provider, ProviderEvent


def cassette(
    provider: Provider | None,
    path: str | os.PathLike[str],
    mode: Mode = "auto",
    match: Match = "sequence",
    normalize: Normalize | None = None,
    redact: Redact | None = None,
    *,
    delays: bool = False,
) -> CassetteProvider:
    """A provider that records what ``provider`` says to a file, or plays it from there.

    Args:
        provider: who is asked while recording. None is enough to replay.
        path: the file, JSON, written for its owner alone. No key, header or raw answer is ever in it.
        mode: ``record`` replaces the file, ``replay`` never asks the provider, ``auto`` replays a file that
            is there, else records. It is fixed here, once.
        match: ``sequence``: call N gets entry N, which must equal it. ``request``: a call gets the first entry
            that equals it and was not used. Times, dates, UUIDs and ids of calls do not count.
        normalize: what else does not count: given a request as JSON data (``model``, ``messages``, ``tools``),
            gives it without that. redact: takes further secrets out of a text, beside keys of the known kinds.
        delays: play the pieces of an answer as slowly as they came, and wait as long before a call that failed is made again.

    Raises:
        CassetteError: the file can not be used: it is missing, not JSON, of another version, or malformed at a path.
        ConfigurationError: no such mode or match, or there is nobody to ask.
    """
    return CassetteProvider(provider, Tape(Path(path), mode, match, normalize, redact), delays=delays)


class CassetteProvider:
    """A provider whose calls are recorded, or played. It has the name and the model of the one that it is around.

    Several may share a tape, each around its own provider: see ``around``.
    """

    def __init__(self, provider: Provider | None, tape: Tape, *, delays: bool = False) -> None:
        if provider is None and tape.records:
            raise ConfigurationError(f"there is no provider to record {tape.path} from", field="provider", hint="Give one, or mode replay.")
        self._provider, self.tape, self._delays = provider, tape, delays

    def around(self, provider: Provider) -> CassetteProvider:
        """Another provider, such as a sub-agent's own, on the same cassette."""
        return CassetteProvider(provider, self.tape, delays=self._delays)

    @property
    def name(self) -> str:
        return self._wrapped.name

    @property
    def model(self) -> str | None:
        return self._wrapped.default_model

    @property
    def _wrapped(self) -> Wrapped:
        if self._provider is not None:
            provider = self._provider
            return Wrapped(text_of(getattr(provider, "name", type(provider).__name__)), getattr(provider, "model", None))
        return (self.tape.file and self.tape.file.provider) or Wrapped("cassette")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._provider is None:
            raise AttributeError(name)
        return getattr(self._provider, name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """One call, played or recorded.

        A call that is aborted before it begins uses up no entry, one that is aborted while it is recorded leaves none.

        Raises:
            ProviderError: what the provider raised, now or when it was recorded.
            CassetteMismatchError: it is not the call that was recorded.
            CassetteError: the recording could not be written.
            HookError: ``normalize`` or ``redact`` failed.
        """
        await asyncio.sleep(0)  # an abort that came before is seen here
        taken = self.tape.take(request)
        events = self._record(request, taken) if isinstance(taken, Slot) else self._play(taken)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _play(self, entry: Entry) -> AsyncGenerator[ProviderEvent, None]:
        pieces = pieces_told(entry.response) if entry.response is not None else pieces_before(entry.error) if entry.error else ()
        for delay_ms, event in pieces:
            if self._delays:
                await asyncio.sleep(delay_ms / 1000)
            yield event
        if entry.error is not None:
            error = error_of(entry.error)
            if isinstance(error, ProviderError):
                error.replayed = not self._delays and self.tape.plays_on
            raise error
        assert entry.response is not None, "an entry has one or the other; it was checked when it was read"
        yield answer_of(entry.response)

    async def _record(self, request: ModelRequest, slot: Slot) -> AsyncGenerator[ProviderEvent, None]:
        await self.tape.ready()
        pieces: list[Piece] = []
        answer: Answer | None = None
        response = None
        before = time.monotonic()
        asked = self._asked(request)
        try:
            async with aclosing(asked):
                async for event in asked:
                    if isinstance(event, Answer):
                        answer = event
                        continue
                    now = time.monotonic()
                    if (piece := piece_of(event, round((now - before) * 1000))) is not None:
                        pieces.append(piece)
                    before = now
                    yield event
            if answer is None:
                raise ProviderError("the model's answer broke off before its end", category="network", retryable=True, partial=bool(pieces))
            response = response_of(answer, pieces, self.tape.redact)
        except Exception as error:
            if not isinstance(error, SDKError) or isinstance(error, ProviderError):
                await self._keep(slot, Entry("stream", slot.request, error=failure_of(error, pieces, self.tape.redact)))
            raise
        await self._keep(slot, Entry("stream", slot.request, response))
        yield answer

    async def _asked(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """The events of the provider, which is left properly by whoever leaves this."""
        assert self._provider is not None, "a tape that records was refused without one"
        events = self._provider.stream(request)
        try:
            async for event in events:
                yield event
        finally:
            leave = getattr(events, "aclose", None)
            if leave is not None:
                await leave()

    async def _keep(self, slot: Slot, entry: Entry) -> None:
        placed = Entry(entry.kind, entry.request, entry.response, entry.error, slot.lane, slot.beside)
        await self.tape.keep(slot, placed, self._wrapped)
