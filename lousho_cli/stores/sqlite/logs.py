"""The batches of a log: adding, reading, replacing and removing them.

In a database nothing is ever torn, so whatever is missing between two batches, or does not fit its checksum, is damage.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from lousho_cli.core.trimming import has_base
from lousho_cli.domain.codec import decode_line, encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import Hole
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.keys import SEQ_MASK, first_key, key_of, last_key
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim

_STANDING = "SELECT (SELECT max(key) FROM batches WHERE key BETWEEN ? AND ?) FROM logs WHERE no = ? AND owner = ? AND epoch = ?"
_APPEND = """INSERT INTO batches (key, epoch, durable, line) SELECT ?, ?, ?, CAST(? AS TEXT) FROM logs
    WHERE no = ? AND owner = ? AND epoch = ? AND (? = ? OR EXISTS (SELECT 1 FROM batches WHERE key = ?))"""
_INSERT = "INSERT INTO batches (key, epoch, durable, line) VALUES (?, ?, ?, CAST(? AS TEXT))"
_LAST = "SELECT key & 4294967295, epoch, durable FROM batches WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
_DURABLE = """SELECT max(synced, coalesce(
    (SELECT key & 4294967295 FROM batches WHERE key BETWEEN ? AND ? AND durable ORDER BY key DESC LIMIT 1), 0)) FROM logs WHERE no = ?"""
_BEHIND = "SELECT key & 4294967295, CAST(line AS BLOB) FROM batches WHERE key > ? AND key <= ? ORDER BY key"

Line = tuple[int, int, bool, bytes]
"""A row to be: key, epoch, whether its commit is synced, line without its newline."""


class End(NamedTuple):
    """Where a log ends: its last seq and that one's epoch, zeros for an empty one; whether all of it is known to be durable."""

    head: int = 0
    epoch: int = 0
    durable: bool = True


class Scan(msgspec.Struct):
    """What a stretch of a log holds. ``size`` is in bytes, ``base`` that of a base it begins with, 0 for none.

    synced: as in ``LogRead``.
    """

    batches: list[Batch] = []
    holes: list[Hole] = []
    head: int = 0
    epoch: int = 0
    synced: int | None = None
    size: int = 0
    base: int = 0


def lines_of(no: int, batches: Sequence[Batch], *, durable: bool = True) -> list[Line]:
    """The rows of batches."""
    return [(key_of(no, batch.seq), batch.epoch, durable, encode_line(batch)[:-1]) for batch in batches]


def follow(claim: SqliteClaim, batches: Sequence[Batch]) -> bool:
    """Whether batches are of the claim's epoch and the next its log gets."""
    epoch, seq = claim.epoch, claim.head
    for batch in batches:
        seq += 1
        if batch.seq != seq or batch.epoch != epoch:
            return False
    return True


def not_next(claim: SqliteClaim, batches: Sequence[Batch]) -> StorageError:
    """The error for batches that do not follow."""
    given = ", ".join(f"batch {batch.seq} of epoch {batch.epoch}" for batch in batches)
    return StorageError(f"{given} does not follow the log of session {claim.log_id}, which is at {claim.head} in epoch {claim.epoch}")


def append(connection: sqlite3.Connection, claim: SqliteClaim, lines: Sequence[Line]) -> None:
    """Adds lines, if the log is ours and ends where they begin.

    Raises:
        OwnershipLostError: it is another's.
        StorageError: it does not end there, or an earlier write of this claim failed.
    """
    claim.require()
    end, first = lines[0][0] - 1, first_key(claim.held.no)
    # The batch before it stands there, and no other has its key: so the log ends where it begins.
    if not connection.execute(_APPEND, (*lines[0], *claim.held, end, first, end)).rowcount:
        _require_end(connection, claim, end)
    if len(lines) > 1:
        insert(connection, lines[1:])


def insert(connection: sqlite3.Connection, lines: Iterable[Line]) -> None:
    """Adds lines, whoever's they are."""
    connection.executemany(_INSERT, lines)


def _require_end(connection: sqlite3.Connection, claim: SqliteClaim, end: int) -> None:
    no = claim.held.no
    rows = connection.execute(_STANDING, (first_key(no), last_key(no), *claim.held)).fetchall()
    if not rows:
        raise claim.lose()
    if (rows[0][0] or first_key(no)) != end:
        raise StorageError(f"the log of session {claim.log_id} does not end at {end & SEQ_MASK}, as its owner knows it")


def stand(connection: sqlite3.Connection, lines: Sequence[Line]) -> bool:
    """Whether lines are in the log, every one."""
    return all(
        connection.execute("SELECT 1 FROM batches WHERE key = ? AND epoch = ? AND durable = ? AND line = CAST(? AS TEXT)", line).fetchall()
        for line in lines
    )


def replace(connection: sqlite3.Connection, claim: SqliteClaim, line: Line, head: int) -> None:
    """Makes one line the whole log, if it is ours and ends at ``head``. Raises like ``append``."""
    claim.require()
    no = claim.held.no
    _require_end(connection, claim, key_of(no, head))
    clear(connection, no)
    connection.execute(_INSERT, line)


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


def scan(database: Database, no: int, after: int = 0) -> Scan:
    """The log behind ``after``.

    Raises:
        StorageError: it can not be read.
    """
    end = end_of(database, no)
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


def scan_rows(rows: Iterable[tuple[int, bytes]], after: int = 0) -> Scan:
    """Rows of (seq, line) to batches; never raises."""
    found = Scan(head=after)
    expected, batches = after + 1, found.batches
    for seq, line in rows:
        batch = decode_line(line)
        found.size += len(line)
        if batch is None or batch.seq != seq:
            _hole(found, expected, seq, "damaged: the checksum does not fit")
        else:
            if seq != expected:
                _gap(found, batch, expected, len(line))
            batches.append(batch)
            found.head = seq
            if not found.base and len(batches) == 1 and seq == 1 and has_base(batch):
                found.base = len(line)
        expected = seq + 1
    return found


def _gap(found: Scan, batch: Batch, expected: int, size: int) -> None:
    """A batch that is not the next: a log may begin with a base, whatever stood before it."""
    if not found.batches and not found.holes and has_base(batch):
        found.base = size
    else:
        _hole(found, expected, batch.seq - 1, "missing")


def _hole(found: Scan, first: int, last: int, detail: str) -> None:
    if found.holes and found.holes[-1].last == first - 1 and found.holes[-1].detail == detail:
        first = found.holes.pop().first
    found.holes.append(Hole(first, last, detail))
