"""The fold at a seq, so that a long log need not be read from its beginning. A cache."""

from __future__ import annotations

import sqlite3
import zlib

from lousho_cli.domain.codec import decode_state
from lousho_cli.domain.state import CACHE_SHAPE, State
from lousho_cli.errors import StorageError
from lousho_cli.stores.sqlite.claims import is_owner
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim


def save(connection: sqlite3.Connection, claim: SqliteClaim, seq: int, data: bytes) -> bool:
    """Replaces the snapshot of a log; False where the log is no longer ours."""
    if not is_owner(connection, claim.held):
        return False
    connection.execute(
        "INSERT OR REPLACE INTO snapshots (no, seq, crc, state) VALUES (?, ?, ?, CAST(? AS TEXT))",
        (claim.held.no, seq, zlib.crc32(data, CACHE_SHAPE), data),
    )
    return True


def load(database: Database, no: int, head: int) -> tuple[State, int] | None:
    """The state a snapshot holds and its size in bytes; None when it is of no use for a log that ends at ``head``.

    Raises:
        StorageError: the database can not be read.
    """
    rows = database.query("SELECT crc, CAST(state AS BLOB) FROM snapshots WHERE no = ? AND seq <= ?", (no, head))
    if not rows or zlib.crc32(rows[0][1], CACHE_SHAPE) != rows[0][0]:
        return None
    try:
        return decode_state(rows[0][1]), len(rows[0][1])
    except StorageError:
        return None
