"""A session that another agent stored becomes one of this store: its entries, one after the other, as records of a log.

The setting ``ORIGIN`` marks it: what it was, and how much of it was taken, with a digest over that. So a second import adds what
is new and nothing else; one whose past was changed becomes a session of its own beside the first.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from lousho_cli.app.import_names import ORIGIN, names_for
from lousho_cli.app.import_places import Place, place_of
from lousho_cli.app.import_results import Imported
from lousho_cli.core.heads import advance_all, head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Head
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import IMPORTING
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, SessionBusyError
from lousho_cli.interchange.reading.fields import time
from lousho_cli.interchange.reading.transcribing import Group, Transcriber
from lousho_cli.interchange.reading.values import Source
from lousho_cli.ports.log_store import Claim, LogStore
from lousho_cli.ports.sessions import read_session

RING = 1000
"""So many checkpoints of an imported session are kept, where the store keeps any: a person goes back further than a crash does."""

_AT_ONCE = 64
"""So many batches are written at once; fewer where they are large."""

_BYTES_AT_ONCE = 256_000


async def import_talk(store: LogStore | None, source: Source, file: Path, names: dict[str, str], *, dry_run: bool) -> Imported:
    """Imports one; what is in its way is why it is skipped.

    Args:
        names: the ids that the sessions of this import got, by those they had; this one's is added.

    Raises:
        StorageError: the store can not be written, or the source not be read.
    """
    try:
        place = await place_of(store, source)
        names[source.id] = place.name
        parent = names.get(source.parent, next(names_for(source.parent))) if source.parent else None
        talk = _Talk(source, file, parent, RING if store is None or store.history_limit else 0)
        done = Imported(
            session=place.name,
            source=text_of(str(file)),
            result="skipped" if place.why else place.result,
            checkpoints=0,
            kind=source.kind,
            was=source.id if place.name != source.id else None,
            why=place.why,
            parent=parent,
            bad_lines=source.bad,
            unit=source.unit,
            skipped_types=source.skipped,
        )
        if place.why or place.result == "unchanged":
            return msgspec.structs.replace(done, messages=sum(1 for _ in source.entries()))
        if store is None or dry_run:
            for _ in talk.groups(place.known):
                pass
        else:
            if place.again:
                await store.delete(place.name)
            await _write(store, talk, place)
    except (ConfigurationError, SessionBusyError, DamagedLogError, LogVersionError) as error:
        name = next(names_for(source.id))
        return Imported(session=name, source=text_of(str(file)), result="skipped", checkpoints=0, kind=source.kind, why=error.detail)
    return msgspec.structs.replace(done, checkpoints=talk.marks, messages=talk.count, repaired=tuple(talk.repairs))


class _Talk:
    """A source being made into records.

    count, size: its entries so far, and their bytes. marks, repairs: what is in what it gave, once that is all.
    """

    def __init__(self, source: Source, file: Path, parent: str | None, limit: int) -> None:
        self.source, self.parent = source, parent
        self.count, self.size, self.marks, self.repairs = 0, 0, 0, list[str]()
        self.when = time(file.stat().st_mtime) or time(0)
        self._file, self._limit = text_of(file.name), limit
        self._digest = hashlib.blake2b(digest_size=16)

    def groups(self, known: int) -> Iterator[Group]:
        """The records behind the first ``known`` entries."""
        source = self.source
        transcriber = Transcriber(source.agent, self._limit, source.asked, source.answered, source.unit)
        for entry in source.entries():
            groups = transcriber.take(entry)
            raw = encode_value(entry.message)
            self._digest.update(raw)
            self.size += len(raw)
            self.count += 1
            if self.count > known:
                yield from groups
            elif self.count == known:
                transcriber.end()
                transcriber.repairs.clear()
                transcriber.marks = 0
        yield from transcriber.end()
        self.repairs, self.marks = transcriber.repairs, transcriber.marks

    def origin(self, epoch: int, *, whole: bool) -> r.SettingChanged:
        """What marks the session. ``whole``: all that is to be written was; until then nothing of it counts."""
        source = self.source
        said = {"kind": source.kind, "file": self._file, "id": source.id, "details": source.details, "epoch": epoch}
        return r.SettingChanged(
            ORIGIN, {**said, "entries": self.count if whole else 0, "digest": self._digest.hexdigest() if whole else ""}
        )

    def beginning(self, known: int, epoch: int) -> tuple[r.Record, ...]:
        created = () if known else (r.Created(self.source.agent, parent=self.parent),)
        return (*created, r.SettingChanged(IMPORTING, True), self.origin(epoch, whole=False))

    def ending(self, epoch: int) -> tuple[r.Record, ...]:
        told = f"imported from {self._file} ({self.source.kind}): {self.count} messages"
        return (self.origin(epoch, whole=True), r.SettingChanged(IMPORTING, None), r.Note("import", told))


async def _write(store: LogStore, talk: _Talk, place: Place) -> None:
    claim = await store.claim(place.name, socket.gethostname())
    try:
        head = await store.head(place.name) if place.seq else Head()
        if head is None or head.seq != place.seq or (await store.read(place.name, after=place.seq)).batches:
            raise SessionBusyError(place.name, "somebody who wrote to it meanwhile", hint="Import it again.")
        batches = _batches(talk, place, claim)
        known: Head | None = head
        while chunk := list(_some(batches, talk)):
            await store.append(claim, chunk, durable=False)
            known = advance_all(known, chunk) if known is not None else None
        await store.flush(claim)
        await store.save_head(claim, known if known is not None else head_of(await read_session(store, place.name)))
    finally:
        await store.release(claim)


def _some(batches: Iterator[r.Batch], talk: _Talk) -> Iterator[r.Batch]:
    """As many batches as are written at once."""
    begun = talk.size
    for batch in islice(batches, _AT_ONCE):
        yield batch
        if talk.size - begun > _BYTES_AT_ONCE:
            return


def _batches(talk: _Talk, place: Place, claim: Claim) -> Iterator[r.Batch]:
    """What a log gets: first who took it and what it is, then all that was said, last how much that was."""
    first: tuple[r.Record, ...] = (r.Claimed(claim.host), *talk.beginning(place.known, claim.epoch))
    at, seq = talk.when, place.seq
    for group in talk.groups(place.known):
        seq, at = seq + 1, group.at or at
        yield r.Batch(seq, claim.epoch, at, (*first, *group.records))
        first = ()
    yield r.Batch(seq + 1, claim.epoch, at, (*first, *talk.ending(claim.epoch)))
