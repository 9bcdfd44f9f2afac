"""The events of a session, read from its log: by another process, another host, or later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import msgspec

from lousho_cli.core.telling import Teller
from lousho_cli.domain.events import Event, WarningGiven
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.places import log_store_of
from lousho_cli.ports.log_store import Hole, LogRead, LogStore

WATCH_MS = 200
"""How long one wait for news lasts before it is seen whether anybody still wants some."""

QUIET_S = 60.0
"""How long a log is believed to be as it was, while the store tells of no change: a store watches all of them at once."""

FOLLOW_EVERY_S = 5
"""How often the owner is told that somebody looks on, and so writes parts of an answer too."""

GoesOn = Callable[[Teller, bool], bool]
"""Whether to wait for more: given what was told so far, and whether somebody drives the session."""


async def session_events(
    store: Any, session_id: str, *, after: tuple[int, int] | None = None, follow: bool = False
) -> AsyncIterator[Event]:
    """The events of a session, from its log: those a listener of its runs was told, but for what is in no log.

    They are the same field by field, ``seq`` aside, which counts anew. Not among them are ``step.start`` and
    ``reasoning.delta``; ``text.delta`` has larger pieces. A run that is refused leaves no trace in a log.

    Args:
        store: a log store, or the checkpoint store that is a view of one.
        after: the ``(cursor, index)`` of the last event that is known already; the rest follows, exactly.
        follow: wait for what is still to be written, until the session has finished and nobody drives it. A run
            that failed, was aborted or waits for a person may go on, so its session is waited for.

    Raises:
        ConfigurationError: the store keeps no logs.
        StorageError: it can not be read.
    """
    logs = store if hasattr(store, "watch") else log_store_of(store)
    if logs is None:
        raise ConfigurationError("this store keeps no log, so it has no events to read", field="store")
    async for event in read_events(logs, session_id, after or (0, -1), _until_finished if follow else _not_at_all):
        yield event


async def read_events(store: LogStore, session_id: str, after: tuple[int, int], goes_on: GoesOn) -> AsyncIterator[Event]:
    """The events behind ``after``, for as long as it ``goes_on``. A log that is deleted or replaced meanwhile has ended."""
    teller, numbers = Teller(session_id), count()
    clock = asyncio.get_running_loop().time
    looked_s = -float(FOLLOW_EVERY_S)
    changed, unsaved, read_s = True, False, clock()
    while True:
        if goes_on is not _not_at_all and clock() - looked_s >= FOLLOW_EVERY_S:
            await store.follow(session_id)
            looked_s = clock() if teller.seq else looked_s  # of one that has not begun nobody is told yet
        # What comes to the disk, and an owner that leaves what has ended, say nothing.
        if changed or unsaved or not goes_on(teller, False):
            driven = await store.owner(session_id) is not None  # asked first: what it wrote before it left is read below
            read, read_s = await store.read(session_id, teller.seq), clock()
            unsaved = read.synced is not None
            if read.head < teller.seq:
                return
            for event in _told(teller, session_id, read):
                if (event.cursor, event.index) > after:
                    yield msgspec.structs.replace(event, seq=next(numbers))
        if not goes_on(teller, driven):
            return
        changed = await store.watch(session_id, teller.seq, WATCH_MS) or clock() - read_s > QUIET_S


def known_durable(read: LogRead) -> int:
    """The last seq of what was read that is known to be durable."""
    return read.head if read.synced is None else read.synced


def _told(teller: Teller, session_id: str, read: LogRead) -> Iterator[Event]:
    durable, holes = known_durable(read), [hole for hole in read.holes if hole.last > teller.seq]
    for batch in read.batches:
        while holes and holes[0].last < batch.seq:
            yield _missing(session_id, holes.pop(0), batch.at)
        yield from teller.of(batch, durable)
    yield from teller.saved(durable)


def _missing(session_id: str, hole: Hole, at: str) -> Event:
    text = f"batches {hole.first} to {hole.last} are {hole.detail}"
    return WarningGiven(session=session_id, cursor=hole.last, index=0, timestamp=at, about="damage", text=text)


def _not_at_all(teller: Teller, driven: bool) -> bool:
    return False


def _until_finished(teller: Teller, driven: bool) -> bool:
    return driven or not teller.session.ended
