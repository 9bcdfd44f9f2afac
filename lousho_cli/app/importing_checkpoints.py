"""A session that another store kept as checkpoints becomes one of this store."""

from __future__ import annotations

import socket

import msgspec

from lousho_cli.app.import_names import session_name
from lousho_cli.app.import_results import Imported, Result
from lousho_cli.core.adopting import Adopted, Standing, batches_of, standing_of
from lousho_cli.core.heads import head_of
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, SessionBusyError
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session


async def import_checkpoints(store: LogStore | None, adopted: Adopted, *, dry_run: bool) -> Imported:
    """Imports one; what is in its way is why it is skipped.

    Raises:
        StorageError: the store can not be written.
    """
    was = adopted.id
    name = session_name(was)
    adopted = msgspec.structs.replace(adopted, id=name)
    done = Imported(session=name, source=adopted.where, result="skipped", checkpoints=0, was=was if was != name else None)
    try:
        check_session_id(name)
        if adopted.cleared and store is not None and not store.history_limit:
            return msgspec.structs.replace(done, why="only its history was kept, and this store keeps none")
        here = await read_session(store, name) if store is not None else Session()
        standing = standing_of(adopted, here)
        if standing is None:
            return msgspec.structs.replace(done, why="another session has this id here")
        new = len(adopted.entries) - standing.entries
        written = min(new, max(store.history_limit, 1)) if store is not None else new
        if new and standing.touched:
            return msgspec.structs.replace(done, why="it went on here since it was imported")
        if new and store is not None and not dry_run:
            await _write(store, adopted, standing)
    except (ConfigurationError, SessionBusyError, DamagedLogError, LogVersionError) as error:
        return msgspec.structs.replace(done, why=error.detail)
    result: Result = "unchanged" if not new else "extended" if standing.entries else "imported"
    waits = adopted.approval.pending.id if adopted.approval is not None and not standing.touched else None
    return msgspec.structs.replace(done, result=result, checkpoints=written, waits_for=waits)


async def _write(store: LogStore, adopted: Adopted, standing: Standing) -> None:
    claim = await store.claim(adopted.id, socket.gethostname())
    try:
        here = await read_session(store, adopted.id)
        if standing_of(adopted, here) != standing:
            raise SessionBusyError(adopted.id, "somebody who wrote to it meanwhile", hint="Import it again.")
        batches = batches_of(adopted, here, claim.epoch, claim.host, store.history_limit, standing.entries)
        await store.append(claim, batches)
        await store.save_head(claim, head_of(await read_session(store, adopted.id)))
    finally:
        await store.release(claim)
