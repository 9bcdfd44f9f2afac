"""The list of all sessions, from cached heads and the batches behind them.

A head says up to which seq it covers its log. While the log ends there it is all a list needs; otherwise what
stands behind is read. So a stale head never hides anything.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import advance_all, head_of
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Head
from lousho_cli.errors import DamagedLogError
from lousho_cli.ports.log_store import Heads
from lousho_cli.stores.row_claim import Held
from lousho_cli.stores.row_scan import Scan
from lousho_cli.stores.rows import checksum, head_in
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.keys import SEQ_MASK
from lousho_cli.stores.sqlite.logs import scan

_HEADS = """SELECT id, no, wake_at, head_crc, CAST(head AS BLOB),
    (SELECT max(key) FROM batches WHERE key BETWEEN logs.no << 24 AND (logs.no << 24) + 16777215) AS last
    FROM logs"""
_PUT = "UPDATE logs SET head_crc = ?, head = CAST(? AS TEXT) WHERE no = ?"


def save(connection: sqlite3.Connection, held: Held, head: Head) -> None:
    """Replaces the head of a log that is still ours."""
    data = encode_value(head)
    connection.execute(_PUT + " AND owner = ? AND epoch = ?", (checksum(data), bytearray(data), *held))


def put(connection: sqlite3.Connection, no: int, head: Head) -> None:
    """Replaces the head of a log."""
    data = encode_value(head)
    connection.execute(_PUT, (checksum(data), data, no))


def list_all(database: Database) -> Heads:
    """The heads of a store.

    Raises:
        StorageError: it can not be read.
    """
    heads: list[Head] = []
    damaged: list[tuple[str, str]] = []
    for row in database.query(_HEADS):
        try:
            head = _one(database, row)
        except _Unreadable as error:
            damaged.append((row[0], error.detail))
        else:
            if head is not None:
                heads.append(head)
    return Heads(tuple(heads), tuple(damaged))


def one(database: Database, log_id: str) -> Head | None:
    """The head of one session, None for none.

    Raises:
        StorageError: its log can not be read, or is damaged.
    """
    rows = database.query(f"{_HEADS} WHERE id = ?", (log_id,))
    return _one(database, rows[0]) if rows else None


class _Unreadable(DamagedLogError):
    """One log is damaged; the others are not."""


def _one(database: Database, row: tuple[Any, ...]) -> Head | None:
    log_id, no, wake_at, crc, data, last = row
    if last is None:
        return None
    known = head_in(crc, data)
    head = _current(database, no, log_id, known, last & SEQ_MASK)
    return msgspec.structs.replace(head, id=log_id, wake_at=wake_at)


def _current(database: Database, no: int, log_id: str, known: Head | None, last: int) -> Head:
    if known is not None and known.seq == last:
        return known
    if known is not None and known.seq < last:
        head = advance_all(known, _sound(scan(database, no, known.seq), log_id).batches)
        if head is not None:
            return head
    batches = _sound(scan(database, no), log_id).batches
    return advance_all(Head(), batches) or head_of(fold(batches))


def _sound(found: Scan, log_id: str) -> Scan:
    if found.holes:
        hole = found.holes[0]
        raise _Unreadable(f"session {log_id}: records {hole.first} to {hole.last} are {hole.detail}")
    return found
