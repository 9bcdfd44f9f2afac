"""A session of ours that was written out becomes one of this store again, batch by batch as it was."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lousho_cli.app.import_names import names_for, session_name
from lousho_cli.app.import_results import Imported, Result
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.session import IMPORTING
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, SessionBusyError
from lousho_cli.interchange.reading.own_log import KIND, OwnLog
from lousho_cli.ports.log_store import Claim, LogStore
from lousho_cli.ports.sessions import read_session


async def import_log(store: LogStore | None, log: OwnLog, file: Path, *, dry_run: bool) -> Imported:
    """Imports one; what is in its way is why it is skipped. One that differs from the session of its id gets another id.

    Raises:
        StorageError: the store can not be written.
    """
    marks = sum(isinstance(record, r.Mark) for batch in log.batches for record in batch.records)
    done = Imported(session=session_name(log.id), source=str(file), result="skipped", checkpoints=0, kind=KIND, bad_lines=log.bad)
    if not log.batches:
        return msgspec.structs.replace(done, why="it holds no record")
    try:
        for name in names_for(log.id):
            here = (await store.read(name)).batches if store is not None else ()
            same = min(len(here), len(log.batches))
            if any(_kept(one) != _kept(other) for one, other in zip(here[:same], log.batches[:same], strict=True)):
                continue  # another session
            new = log.batches[same:]
            if new and store is not None and not dry_run:
                await _write(store, name, new, len(here), half=_is_half(log.batches))
            result: Result = "unchanged" if not new else "extended" if here else "imported"
            known = sum(isinstance(record, r.Mark) for batch in here[:same] for record in batch.records)
            was = log.id if name != log.id else None
            return msgspec.structs.replace(done, session=name, result=result, checkpoints=marks - known if new else 0, was=was)
    except (ConfigurationError, SessionBusyError, DamagedLogError, LogVersionError) as error:
        return msgspec.structs.replace(done, why=error.detail)
    return msgspec.structs.replace(done, why="other sessions have this id here, and all ids like it")


def _kept(batch: r.Batch) -> list[r.Record]:
    """What a batch says but for who wrote it, and whether that was an import."""
    return [record for record in batch.records if not isinstance(record, r.Claimed) and not _is_about_import(record)]


_STARTS_OVER = (r.Cleared, r.Base, r.Forked)
"""The records behind which no setting stands that stood in front of them."""


def _is_about_import(record: r.Record) -> bool:
    return isinstance(record, r.SettingChanged) and record.name == IMPORTING


def _is_half(batches: Sequence[r.Batch]) -> bool:
    """Whether a log was written out from a store to which it had not come as a whole."""
    for batch in reversed(batches):
        for record in reversed(batch.records):
            if isinstance(record, r.SettingChanged) and record.name == IMPORTING:
                return record.value is not None
            if isinstance(record, _STARTS_OVER):
                return not isinstance(record, r.Cleared) and IMPORTING in record.state.settings
    return False


async def _write(store: LogStore, name: str, new: Sequence[r.Batch], known: int, *, half: bool) -> None:
    claim = await store.claim(name, socket.gethostname())
    try:
        seq = (await store.read(name, after=known)).head
        if seq != known:
            raise SessionBusyError(name, "somebody who wrote to it meanwhile", hint="Import it again.")
        await store.append(claim, _batches(new, known, claim, half=half))
        await store.save_head(claim, head_of(await read_session(store, name)))
    finally:
        await store.release(claim)


def _batches(new: Sequence[r.Batch], known: int, claim: Claim, *, half: bool) -> list[r.Batch]:
    """The batches behind the first ``known``, as this claim writes them. The first says that more comes, the last that this was all.

    So does one that comes alone behind others: those may be an import that was cut off in front of it. None does of ``half`` a log.
    """
    batches: list[r.Batch] = []
    last = known + len(new)
    for number, batch in enumerate(new, known + 1):
        records = [record for record in batch.records if not _is_about_import(record)]
        claims = any(isinstance(record, r.Claimed) for record in records)
        first = [r.Claimed(claim.host)] if not claims and not batches else []
        starts_over = any(isinstance(record, _STARTS_OVER) for record in records)
        about: list[r.Record] = []
        if (number < last or half) and (starts_over or not batches):
            about = [r.SettingChanged(IMPORTING, True)]
        elif number == last > 1 and not half:
            about = [r.SettingChanged(IMPORTING, None)]
        said = [*records, *about] if starts_over or claims else [*about, *records]
        batches.append(r.Batch(number, claim.epoch, batch.at, (*first, *said)))
    return batches
