"""Makes a damaged log one that can be written again, losing nothing that can still be read.

The rows as they were are kept in a file beside the database, a line each.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lousho_cli.domain.records import Batch
from lousho_cli.errors import StorageError
from lousho_cli.stores.mending import mendable, mended
from lousho_cli.stores.sqlite import logs
from lousho_cli.stores.sqlite.claims import require_owner
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.job import Job
from lousho_cli.stores.sqlite.keys import first_key, last_key
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim

if TYPE_CHECKING:
    from lousho_cli.stores.sqlite.store import SqliteStore


async def repair(store: SqliteStore, session_id: str) -> str | None:
    """Repairs one session; gives the path of the file that keeps the damaged log, None when there was nothing to repair.

    Raises:
        SessionBusyError: somebody drives it.
        LogVersionError: a newer version wrote it, which alone knows how to repair it.
        StorageError: nothing in it is valid, or it can not be written.
    """
    claim = await store.take(session_id, os.uname().nodename)
    try:
        found = logs.scan(store.database, claim.held.no)
        parted = mendable(session_id, store.path, found.batches, found.holes)
        if parted is None:
            return None
        path = _keep(store.database, claim)
        batches = mended(*parted, claim.epoch, claim.host, os.path.basename(path))
        await store.writer.run(Job(lambda connection: _replace(connection, claim, batches), durable=True))
        return path
    finally:
        await store.release(claim)


def _replace(connection: sqlite3.Connection, claim: SqliteClaim, batches: Sequence[Batch]) -> None:
    require_owner(connection, claim)
    logs.clear(connection, claim.held.no)
    logs.insert(connection, logs.lines_of(claim.held.no, batches))


def _keep(database: Database, claim: SqliteClaim) -> str:
    """Writes the lines of a log, good or not, to a new file."""
    no = claim.held.no
    rows = database.query("SELECT CAST(line AS BLOB) FROM batches WHERE key BETWEEN ? AND ? ORDER BY key", (first_key(no), last_key(no)))
    for number in itertools.count(1):
        path = f"{database.path}-damaged-{claim.log_id}-{number}.jsonl"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
        try:
            with os.fdopen(file, "wb") as target:
                target.writelines(line + b"\n" for (line,) in rows)
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            raise StorageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
        return path
    raise AssertionError("unreachable")
