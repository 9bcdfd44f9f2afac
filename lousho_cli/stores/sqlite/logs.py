"""The batches of a log: reading and removing them, and what they look like as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.stores.row_scan import Scan, scan_rows
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.keys import first_key, key_of, last_key

_INSERT = "INSERT INTO batches (key, epoch, durable, line) VALUES (?, ?, ?, CAST(? AS TEXT))"
_STANDING = """SELECT logs.no, batches.key & 16777215, batches.epoch, batches.durable FROM logs LEFT JOIN batches
    ON batches.key = (SELECT max(key) FROM batches WHERE key BETWEEN logs.no << 24 AND (logs.no << 24) + 16777215) WHERE logs.id = ?"""
_LAST = "SELECT key & 16777215, epoch, durable FROM batches WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
_DURABLE = """SELECT max(synced, coalesce(
    (SELECT key & 16777215 FROM batches WHERE key BETWEEN ? AND ? AND durable ORDER BY key DESC LIMIT 1), 0)) FROM logs WHERE no = ?"""
_BEHIND = "SELECT key & 16777215, CAST(line AS BLOB) FROM batches WHERE key > ? AND key <= ? ORDER BY key"

Line = tuple[int, int, int, bytearray]
"""A row to be: key, epoch, 1 where its commit is synced, line without its newline.

The driver takes whole numbers and ``bytearray`` as they are; for ``bytes``, ``bool`` and None it first looks for an adapter, which
costs more than to bind them.
"""


class End(NamedTuple):
    """Where a log ends: its last seq and that one's epoch, zeros for an empty one; whether all of it is known to be durable."""

    head: int = 0
    epoch: int = 0
    durable: bool = True


def lines_of(no: int, batches: Sequence[Batch], *, durable: bool = True) -> list[Line]:
    """The rows of batches."""
    synced = int(durable)
    return [(key_of(no, batch.seq), batch.epoch, synced, bytearray(encode_line(batch)[:-1])) for batch in batches]


def insert(connection: sqlite3.Connection, lines: Iterable[Line]) -> None:
    """Adds lines, whoever's they are."""
    connection.executemany(_INSERT, lines)


def stand(connection: sqlite3.Connection, lines: Sequence[Line]) -> bool:
    """Whether lines are in the log, every one."""
    return all(
        connection.execute("SELECT 1 FROM batches WHERE key = ? AND epoch = ? AND durable = ? AND line = CAST(? AS TEXT)", line).fetchall()
        for line in lines
    )


def clear(connection: sqlite3.Connection, no: int) -> None:
    """Removes the batches of a log, its head and its snapshot."""
    connection.execute("DELETE FROM batches WHERE key BETWEEN ? AND ?", (first_key(no), last_key(no)))
    connection.execute("UPDATE logs SET head_crc = NULL, head = NULL WHERE no = ?", (no,))
    connection.execute("DELETE FROM snapshots WHERE no = ?", (no,))


def end_of(database: Database, no: int) -> End:
    """Where a log ends.

    Raises:
        StorageError: it can not be read.
    """
    rows = database.query(_LAST, (first_key(no), last_key(no)))
    return End(rows[0][0], rows[0][1], bool(rows[0][2])) if rows else End()


def standing(database: Database, log_id: str) -> tuple[int, End]:
    """The number of a log, 0 where the id was never seen, and where it ends. Raises like ``end_of``."""
    rows = database.query(_STANDING, (log_id,))
    if not rows:
        return 0, End()
    no, head, epoch, durable = rows[0]
    return no, End() if head is None else End(head, epoch, bool(durable))


def scan(database: Database, no: int, after: int = 0) -> Scan:
    """The log behind ``after``. Raises like ``end_of``."""
    return scan_to(database, no, end_of(database, no), after)


def scan_to(database: Database, no: int, end: End, after: int = 0) -> Scan:
    """The log behind ``after``, which ends at ``end``. Raises like ``end_of``."""
    if end.head <= after:
        found = Scan(head=end.head)
    else:
        found = scan_rows(database.query(_BEHIND, (key_of(no, after), key_of(no, end.head))), after)
        found.head = max(found.head, after)
    found.epoch = end.epoch
    if not end.durable:
        ((synced,),) = database.query(_DURABLE, (first_key(no), key_of(no, end.head), no)) or ((0,),)
        found.synced = synced if synced < end.head else None
    return found
