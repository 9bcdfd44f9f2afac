"""The log of a session as it grows, for who looks on from another terminal or host."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.telling import Teller
from lousho_cli.domain.events import Event
from lousho_cli.domain.records import Batch, Foreign, Record
from lousho_cli.domain.session import Session
from lousho_cli.executor.log_events import FOLLOW_EVERY_S, QUIET_S, WATCH_MS, read_events
from lousho_cli.ports.log_store import Hole, LogStore


class Cursor(msgspec.Struct, frozen=True):
    """A place in a log: the batch, and the record in it from 0. ``--since`` takes its seq."""

    seq: int
    index: int


class Followed(msgspec.Struct, frozen=True):
    """One record of a log. ``type`` is its tag, ``record`` the rest of it."""

    cursor: Cursor
    at: str
    epoch: int
    type: str
    record: dict[str, Any]


class Gap(msgspec.Struct, frozen=True):
    """Batches that are missing from the log."""

    hole: Hole


async def follow(store: LogStore, session_id: str, since: int = 0) -> AsyncIterator[Followed | Gap]:
    """Every record behind ``since``, then each new one, until the run has ended and nobody drives the session, or the log is gone.

    Args:
        since: the seq of the last batch already known; 0 for none.

    Raises:
        StorageError: it can not be read.
    """
    session: Session = Session()
    seen, after = since, 0
    gaps: set[int] = set()
    looked_s: float = -FOLLOW_EVERY_S
    changed, read_s = True, 0.0
    while True:
        if time.monotonic() - looked_s >= FOLLOW_EVERY_S:
            await store.follow(session_id)
            looked_s = time.monotonic()
        if changed or session.outcome is not None:  # an owner that leaves what has ended says nothing
            driven = await store.owner(session_id) is not None  # asked first: what it wrote before it left is read below
            read, read_s = await store.read(session_id, after), time.monotonic()
            if read.head < after:
                return  # it was deleted, or replaced by another log
            session = fold(read.batches, session)
            for hole in read.holes:
                if hole.first not in gaps:
                    gaps.add(hole.first)
                    yield Gap(hole)
            for batch in read.batches:
                after = batch.seq
                if batch.seq > seen:
                    for followed in followed_of(batch):
                        yield followed
            if session.outcome is not None and not driven:
                return
        changed = await store.watch(session_id, after, WATCH_MS) or time.monotonic() - read_s > QUIET_S


async def follow_events(store: LogStore, session_id: str, since: int = 0) -> AsyncIterator[Event]:
    """The same as events, those of the batches behind ``since``: what a run's listener is told, but for what is in no log.

    Raises:
        StorageError: it can not be read.
    """
    async for event in read_events(store, session_id, (since, sys.maxsize), _goes_on):
        yield event


def _goes_on(teller: Teller, driven: bool) -> bool:
    return driven or teller.session.outcome is None


def followed_of(batch: Batch) -> list[Followed]:
    """The records of a batch, each with its cursor."""
    return [Followed(Cursor(batch.seq, index), batch.at, batch.epoch, *_split(record)) for index, record in enumerate(batch.records)]


def _split(record: Record | Foreign) -> tuple[str, dict[str, Any]]:
    fields: dict[str, Any] = msgspec.json.decode(record.raw) if isinstance(record, Foreign) else msgspec.to_builtins(record)
    return fields.pop("type"), fields
