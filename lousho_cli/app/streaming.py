"""A run as others see it: events as JSON lines, and a turn that another owner runs, read from the log."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec

from lousho_cli.core.telling import Teller
from lousho_cli.domain.events import Event, line_of
from lousho_cli.domain.session import Session
from lousho_cli.executor.events import Listener
from lousho_cli.executor.log_events import FOLLOW_EVERY_S, known_durable
from lousho_cli.ports.log_store import LogStore

WATCH_MS = 200
"""How long one wait for news lasts before the owner is looked at again."""


class Lines:
    """Events of one command as lines, numbered through. In each session the cursor only ever rises."""

    def __init__(self) -> None:
        self._numbers = count()
        self._cursors: dict[str, tuple[int, int]] = {}

    def of(self, event: Event) -> dict[str, Any]:
        """One event as a line."""
        seq, index = self._cursors.get(event.session, (0, -1))
        if (event.cursor, event.index) > (seq, index):
            seq, index = event.cursor, event.index
        else:
            index += 1
        self._cursors[event.session] = seq, index
        return line_of(msgspec.structs.replace(event, seq=next(self._numbers), cursor=seq, index=index))


class InputFollower:
    """Follows one input of a session through its log: the events of each batch, from that in which it entered the transcript."""

    def __init__(self, store: LogStore, session_id: str, input_id: str, listener: Listener) -> None:
        self._store, self._id, self._input, self._listener = store, session_id, input_id, listener
        self._teller = Teller(session_id)
        self._numbers = count()
        self._from: int | None = None
        self._looked_s: float = -FOLLOW_EVERY_S

    @property
    def session(self) -> Session:
        """The session as far as it was followed."""
        return self._teller.session

    async def advance(self) -> bool:
        """Reads what is new; True once the input is settled, was rejected, or waits for a person's decision."""
        if time.monotonic() - self._looked_s >= FOLLOW_EVERY_S:
            self._looked_s = time.monotonic()
            await self._store.follow(self._id)  # its owner writes parts of an answer for who looks on
        read = await self._store.read(self._id, after=self._teller.seq)
        durable = known_durable(read)
        for batch in read.batches:
            events = self._teller.of(batch, durable)
            if self._from is None and any(event.type == "input.applied" and event.input_id == self._input for event in events):
                self._from = batch.seq
            self._tell(events)
            if self._rests():
                self._tell(self._teller.saved(durable))
                return True
        self._tell(self._teller.saved(durable))
        return self._rests()

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            if self._from is not None and event.cursor >= self._from:
                self._listener(msgspec.structs.replace(event, seq=next(self._numbers)))

    async def wait(self) -> None:
        """Waits for news, for a while."""
        await self._store.watch(self._id, self._teller.seq, WATCH_MS)

    def _rests(self) -> bool:
        session = self.session
        known = session.inputs.get(self._input)
        if known is not None and known.status in {"settled", "rejected"}:
            return True
        return session.awaiting
