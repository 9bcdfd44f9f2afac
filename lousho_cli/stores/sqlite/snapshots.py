"""The fold at a seq, so that a long log need not be read from its beginning. A cache."""

from __future__ import annotations

import sqlite3

from lousho_cli.domain.state import State
from lousho_cli.stores.rows import checksum, state_in
from lousho_cli.stores.sqlite.claims import is_owner
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim


def save(connection: sqlite3.Connection, claim: SqliteClaim, seq: int, data: bytes) -> bool:
    """Replaces the snapshot of a log; False where the log is no longer ours."""
    if not is_owner(connection, claim.held):
        return False
    connection.execute(
        "INSERT OR REPLACE INTO snapshots (no, seq, crc, state) VALUES (?, ?, ?, CAST(? AS TEXT))",
        (claim.held.no, seq, checksum(data), data),
    )
    return True


def load(database: Database, no: int, head: int) -> tuple[State, int] | None:
    """The state a snapshot holds and its size in bytes; None when it is of no use for a log that ends at ``head``.

    Raises:
        StorageError: the database can not be read.
    """
    rows = database.query("SELECT crc, CAST(state AS BLOB) FROM snapshots WHERE no = ? AND seq <= ?", (no, head))
    return state_in(*rows[0]) if rows else None
