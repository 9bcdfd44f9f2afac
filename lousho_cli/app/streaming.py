"""A run as others see it: events as JSON lines, and a turn that another owner runs, read from the log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.events import Event, Events, Listener
from lousho_cli.executor.telling import Telling
from lousho_cli.ports.log_store import LogStore

FOLLOW_EVERY_S = 5
"""How often the owner is told that somebody looks on."""

WATCH_MS = 200
"""How long one wait for news lasts before the owner is looked at again."""


class Lines:
    """Events as lines. Each has a cursor: the seq of the log it follows, and its number among those that follow it."""

    def __init__(self) -> None:
        self._seq, self._index = 0, -1

    def of(self, event: Event) -> dict[str, Any]:
        """One event as a line."""
        if event.cursor > self._seq:
            self._seq, self._index = event.cursor, -1
        self._index += 1
        line: dict[str, Any] = msgspec.to_builtins(event)
        return line | {"cursor": {"seq": self._seq, "index": self._index}}


class InputFollower:
    """Follows one input of a session through its log, telling each batch behind its beginning as events."""

    def __init__(self, store: LogStore, session_id: str, input_id: str, listener: Listener) -> None:
        self._store, self._id, self._input = store, session_id, input_id
        self._fold = Accumulator()
        self._events = Events(listener, SYSTEM_CLOCK, session_id)
        self._telling: Telling | None = None
        self._sent = ""
        self._looked_s: float = -FOLLOW_EVERY_S

    @property
    def session(self) -> Session:
        """The session as far as it was followed."""
        return self._fold.freeze()

    async def advance(self) -> bool:
        """Reads what is new; True once the input is settled, was rejected, or waits for a person's decision."""
        if time.monotonic() - self._looked_s >= FOLLOW_EVERY_S:
            self._looked_s = time.monotonic()
            await self._store.follow(self._id)  # its owner writes parts of an answer for who looks on
        for batch in (await self._store.read(self._id, after=self._fold.seq)).batches:
            if self._telling is None and self._applied(batch.records):
                self._telling = Telling(self._events, self.session)
            apply(self._fold, batch)
            if self._telling is not None:
                self._pieces(batch)
                self._telling.tell((batch,), durable=not all(isinstance(record, r.Partial) for record in batch.records))
            if self._rests():
                return True
        return self._rests()

    def _pieces(self, batch: r.Batch) -> None:
        """Tells the text of an answer as it comes; with the whole answer, what of it was not told yet."""
        for record in batch.records:
            if isinstance(record, r.Partial):
                self._sent += record.text
                self._piece(record.text, batch.seq)
            elif isinstance(record, r.Turn):
                if record.message.text.startswith(self._sent):
                    self._piece(record.message.text[len(self._sent) :], batch.seq)
                self._sent = ""
            elif isinstance(record, r.ModelRetry):
                self._sent = ""

    def _piece(self, text: str, seq: int) -> None:
        if text:
            self._events.emit("text.delta", step=self.session.step, cursor=seq, text=text)

    async def wait(self) -> None:
        """Waits for news, for a while."""
        await self._store.watch(self._id, self._fold.seq, WATCH_MS)

    def _applied(self, records: Sequence[Any]) -> bool:
        return any(isinstance(record, r.InputApplied) and record.id == self._input for record in records)

    def _rests(self) -> bool:
        known = self.session.inputs.get(self._input)
        if known is not None and known.status in {"settled", "rejected"}:
            return True
        return self.session.awaiting
