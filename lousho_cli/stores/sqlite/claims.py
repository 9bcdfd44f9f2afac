"""Who may write a log: taking it, giving it back, and whose it is. Each within one transaction."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime
from typing import Any

from lousho_cli.domain.times import stamp
from lousho_cli.errors import SessionBusyError
from lousho_cli.ports.log_store import Owner
from lousho_cli.stores.row_claim import Held
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.keys import first_key, key_of, last_key
from lousho_cli.stores.sqlite.presence import Presence, is_gone, now_ms
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim

OWNER = """SELECT logs.no, logs.epoch, logs.host, logs.since, logs.ttl_ms, owners.token, owners.pid, owners.boot, owners.renewed_ms
    FROM logs LEFT JOIN owners ON owners.token = logs.owner WHERE logs.id = ?"""

_NEW = "INSERT INTO logs (epoch, owner, host, since, ttl_ms, id) VALUES (?, ?, ?, ?, ?, ?)"
_TAKEN = "UPDATE logs SET epoch = ?, owner = ?, host = ?, since = ?, ttl_ms = ? WHERE no = ?"
_NOTE_SYNCED = "UPDATE logs SET synced = ? WHERE no = ? AND owner = ? AND epoch = ?"
# Only up to what stands there: an append that was still under way when its owner gave up may have failed.
_GIVEN_BACK = """UPDATE logs SET owner = NULL, host = NULL, since = NULL, ttl_ms = NULL, wake_at = ?,
    synced = max(synced, coalesce((SELECT ? FROM batches WHERE key = ?), 0)) WHERE no = ? AND owner = ? AND epoch = ?"""
OWNED = "SELECT 1 FROM logs WHERE no = ? AND owner = ? AND epoch = ?"


def number_of(connection: sqlite3.Connection, log_id: str) -> int:
    """The number of a log, a new one where the id was never seen."""
    rows = connection.execute("SELECT no FROM logs WHERE id = ?", (log_id,)).fetchall()
    if rows:
        return int(rows[0][0])
    number = connection.execute("INSERT INTO logs (id) VALUES (?)", (log_id,)).lastrowid
    assert number is not None
    return number


def take(connection: sqlite3.Connection, path: str, presence: Presence, log_id: str, host: str, ttl_ms: int) -> Held:
    """Makes this process the owner of a log.

    Raises:
        SessionBusyError: another owner lives.
    """
    known = require_free(connection, path, log_id)
    presence.enter(connection)
    no, epoch = known or (None, 0)
    taken = (epoch + 1, presence.token, host, stamp(datetime.now(UTC)), ttl_ms)
    if no is None:
        no = connection.execute(_NEW, (*taken, log_id)).lastrowid
        assert no is not None
    else:
        connection.execute(_TAKEN, (*taken, no))
    return Held(no, presence.token, epoch + 1)


def require_free(connection: sqlite3.Connection, path: str, log_id: str) -> tuple[int, int] | None:
    """The number and the highest epoch of a log, None where the id was never seen.

    Raises:
        SessionBusyError: somebody owns it and may not be replaced.
    """
    rows = connection.execute(OWNER, (log_id,)).fetchall()
    owner = living_owner(path, rows)
    if owner is not None:
        raise SessionBusyError(log_id, owner.describe())
    return rows[0][:2] if rows else None


def living_owner(path: str, rows: list[tuple[Any, ...]]) -> Owner | None:
    """The owner in the row that ``OWNER`` gives, None where there is none, it is dead or its time is up."""
    if not rows:
        return None
    _, epoch, host, since, ttl_ms, token, pid, boot, renewed_ms = rows[0]
    if token is None or is_gone(path, token, boot) or now_ms() >= renewed_ms + ttl_ms:
        return None
    return Owner(host, pid, since, epoch)


def is_owner(connection: sqlite3.Connection, held: Held) -> bool:
    """Whether a log is still ours."""
    return bool(connection.execute(OWNED, held).fetchall())


def beat(connection: sqlite3.Connection, host_id: str, ttl_ms: int) -> None:
    """Says that a host with a stable id lives."""
    connection.execute(
        "INSERT INTO owners (token, pid, boot, renewed_ms) VALUES (?, 0, '', ?) "
        "ON CONFLICT (token) DO UPDATE SET renewed_ms = excluded.renewed_ms",
        (f"host:{host_id}", time.time_ns() // 1_000_000 + ttl_ms),
    )


def lives(database: Database, host_id: str) -> bool:
    """Whether a host said within its time that it lives."""
    now = time.time_ns() // 1_000_000
    return bool(database.query("SELECT 1 FROM owners WHERE token = ? AND renewed_ms > ?", (f"host:{host_id}", now)))


def refuse(connection: sqlite3.Connection, held: Held, wake_at: str | None) -> None:
    """Frees a log that may not be written; the wake that was set stays unless there is a new one."""
    ((known,),) = connection.execute("SELECT wake_at FROM logs WHERE no = ?", (held.no,)).fetchall() or ((None,),)
    give_back(connection, held, wake_at or known)


def give_back(connection: sqlite3.Connection, held: Held, wake_at: str | None = None, synced: int = 0) -> None:
    """Frees a log that is still ours. A first claim under which nothing was written leaves nothing behind.

    ``synced``: up to which seq it is durable with the commit of this; 0 where that is not known, or it may be empty.
    """
    changed = connection.execute(_GIVEN_BACK, (wake_at, synced, key_of(held.no, synced), *held)).rowcount
    if changed and held.epoch == 1 and wake_at is None and not synced:
        connection.execute(
            "DELETE FROM logs WHERE no = ? AND NOT EXISTS (SELECT 1 FROM batches WHERE key BETWEEN ? AND ?) "
            "AND NOT EXISTS (SELECT 1 FROM posts WHERE posts.no = logs.no)",
            (held.no, first_key(held.no), last_key(held.no)),
        )


def require_owner(connection: sqlite3.Connection, claim: SqliteClaim) -> None:
    """Lets only an owner pass whose writer is alive.

    Raises:
        OwnershipLostError: the log is another's, or was given back.
        StorageError: an earlier write of this claim failed.
    """
    claim.require()
    if not is_owner(connection, claim.held):
        raise claim.lose()


def note_synced(connection: sqlite3.Connection, claim: SqliteClaim, seq: int) -> None:
    """Says that a log is durable up to ``seq``, as the commit of this makes it. Raises like ``require_owner``."""
    claim.require()
    if not connection.execute(_NOTE_SYNCED, (seq, *claim.held)).rowcount:
        raise claim.lose()
