"""Where a session that another agent stored goes: to a new id, behind what is here of it, or nowhere.

The setting ``ORIGIN`` tells how much of a source a log was made of. Where its digest does not fit, what was said is compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from lousho_cli.app.import_names import ORIGIN, names_for
from lousho_cli.app.import_results import Result
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Head
from lousho_cli.domain.messages import Message
from lousho_cli.interchange.reading.transcribing import Transcriber
from lousho_cli.interchange.reading.values import Source
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

_WENT_ON = "it went on here since it was imported"


class Place(msgspec.Struct, frozen=True):
    """Where a session goes: its id, how many of its entries are there, at which seq that log ends. ``why`` it is left alone.

    again: what is there is written anew: its last answer was not whole, or its import was cut off.
    """

    name: str
    known: int = 0
    seq: int = 0
    result: Result = "imported"
    why: str | None = None
    again: bool = False


class _Mark(msgspec.Struct, frozen=True):
    kind: str
    id: str
    entries: int
    digest: str
    epoch: int


async def place_of(store: LogStore | None, source: Source) -> Place:
    """The first id that is free, or that has this session; ``store`` None stands for an empty one.

    Raises:
        StorageError: the store or the source can not be read.
    """
    for name in names_for(source.id):
        if store is None or (head := await store.head(name)) is None or not head.seq:
            return Place(name)
        place = await _compared(store, name, head, source)
        if place is not None:
            return place
    return Place(name, why="other sessions have this id here, and all ids like it")


async def _compared(store: LogStore, name: str, head: Head, source: Source) -> Place | None:
    """How much of a source the session ``name`` has; None where that is another session, or had another past."""
    last = (await store.read(name, after=head.seq - 1)).batches
    origin = next((_origin_in(batch) for batch in last if _origin_in(batch)), None)
    touched = origin is None
    if origin is None:
        origin = (await read_session(store, name)).settings.get(ORIGIN)
    is_fork = touched and head.parent is not None and head.lead is None
    mark = _mark_of(origin)
    if is_fork or mark is None or (mark.kind, mark.id) != (source.kind, source.id):
        return None
    known = mark.entries
    if known <= 0:  # an import that did not come to its end
        alone = last[-1].epoch == mark.epoch
        return Place(name, again=alone, why=None if alone else _WENT_ON)
    count, same = _measured(source, known, mark.digest)
    if same and count == known:
        return Place(name, known, head.seq, "unchanged")
    if same:
        return Place(name, known, head.seq, "extended", _WENT_ON if touched else None)
    began = await _began(store, name, source, count, known)
    if began == "is there":
        return Place(name, count, head.seq, "unchanged")
    if began == "has grown":
        return Place(name, result="extended", why=_WENT_ON if touched else None, again=True)
    return None


def _mark_of(origin: Any) -> _Mark | None:
    """What the setting says; None where it is not as an import writes it, as in a log that came from elsewhere."""
    try:
        return msgspec.convert(origin, _Mark)
    except msgspec.ValidationError:
        return None


def _origin_in(batch: r.Batch) -> Any:
    return next((record.value for record in batch.records if isinstance(record, r.SettingChanged) and record.name == ORIGIN), None)


def _measured(source: Source, known: int, digest: str) -> tuple[int, bool]:
    """How many entries a source has, and whether the first ``known`` of them have the digest."""
    found, count, same = hashlib.blake2b(digest_size=16), 0, False
    for count, entry in enumerate(source.entries(), 1):
        if count <= known:
            found.update(encode_value(entry.message))
            same = count == known and found.hexdigest() == digest
            if count == known and not same:
                break
    return count, same


async def _began(store: LogStore, name: str, source: Source, count: int, known: int) -> Literal["is there", "has grown", "differs"]:
    """What of a source a log says: all, and perhaps more; less, its last answer not whole; or something else.

    Args:
        count: how many entries the source has. known: how many of them the log was made of.
    """
    ours = list(_said(record for batch in (await store.read(name)).batches for record in batch.records))
    last = max((at for at, message in enumerate(ours) if message.role == "assistant"), default=-1)
    transcriber = Transcriber(source.agent, 0, source.asked, source.answered)
    groups = [group for entry in source.entries() for group in transcriber.take(entry)] + transcriber.end()
    theirs = list(_said(record for group in groups for record in group.records))
    grown = False
    for at, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            grown = at == last and _is_beginning(one, other)
            if not grown:
                return "differs"
    if grown:
        return "has grown" if len(theirs) >= len(ours) else "differs"
    return "is there" if count < known and len(theirs) <= len(ours) else "differs"


def _is_beginning(one: Message, other: Message) -> bool:
    """Whether an answer is the beginning of another, as where its lines were still being written."""
    same = other.tool_calls[: len(one.tool_calls)] == one.tool_calls and other.text.startswith(one.text)
    return same and other.role == one.role


def _said(records: Iterable[r.Record]) -> Iterator[Message]:
    for record in records:
        if isinstance(record, r.InputReceived):
            yield from record.messages
        elif isinstance(record, r.Turn):
            yield record.message
