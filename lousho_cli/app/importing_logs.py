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
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, SessionBusyError
from lousho_cli.interchange.reading.own_log import KIND, OwnLog
from lousho_cli.ports.log_store import LogStore
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
                await _write(store, name, new, len(here))
            result: Result = "unchanged" if not new else "extended" if here else "imported"
            known = sum(isinstance(record, r.Mark) for batch in here[:same] for record in batch.records)
            was = log.id if name != log.id else None
            return msgspec.structs.replace(done, session=name, result=result, checkpoints=marks - known if new else 0, was=was)
    except (ConfigurationError, SessionBusyError, DamagedLogError, LogVersionError) as error:
        return msgspec.structs.replace(done, why=error.detail)
    return msgspec.structs.replace(done, why="other sessions have this id here, and all ids like it")


def _kept(batch: r.Batch) -> list[r.Record]:
    """What a batch says but for who wrote it."""
    return [record for record in batch.records if not isinstance(record, r.Claimed)]


async def _write(store: LogStore, name: str, new: Sequence[r.Batch], known: int) -> None:
    claim = await store.claim(name, socket.gethostname())
    try:
        seq = (await store.read(name, after=known)).head
        if seq != known:
            raise SessionBusyError(name, "somebody who wrote to it meanwhile", hint="Import it again.")
        batches: list[r.Batch] = []
        for number, batch in enumerate(new, known + 1):
            claimed = any(isinstance(record, r.Claimed) for record in batch.records)
            first: tuple[r.Record, ...] = () if claimed or batches else (r.Claimed(claim.host),)
            batches.append(r.Batch(number, claim.epoch, batch.at, (*first, *batch.records)))
        await store.append(claim, batches)
        await store.save_head(claim, head_of(await read_session(store, name)))
    finally:
        await store.release(claim)
