"""Looks through a database and says what it finds; changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lousho_cli.core.session_ids import check_session_id
from lousho_cli.errors import DamagedLogError, StorageError
from lousho_cli.stores.findings import Finding, in_batches
from lousho_cli.stores.rows import head_in, post_in
from lousho_cli.stores.sqlite import snapshots
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.logs import end_of, scan

if TYPE_CHECKING:
    from lousho_cli.stores.sqlite.store import SqliteStore

_NOWHERE = "SELECT count(*), min(key) >> 24 FROM batches WHERE key >> 24 NOT IN (SELECT no FROM logs) HAVING count(*)"


def check(store: SqliteStore) -> list[Finding]:
    """Everything worth saying about a store: its pages, then session by session.

    Raises:
        StorageError: it can not be opened, for another reason than damage.
    """
    database = store.database
    found = _pages(database)
    try:
        for log_id, no in database.query("SELECT id, no FROM logs ORDER BY id"):
            found += _session(database, log_id, no)
        for count, no in database.query(_NOWHERE):
            found.append(Finding("", "stray", None, f"{count} batches belong to no session, the first to log number {no}"))
    except DamagedLogError as error:
        if not found:
            found.append(Finding("", "unreadable", None, error.detail))
    return found


def check_session(store: SqliteStore, session_id: str) -> list[Finding]:
    """Everything worth saying about one session."""
    rows = store.database.query("SELECT no FROM logs WHERE id = ?", (check_session_id(session_id),))
    return [finding for (no,) in rows for finding in _session(store.database, session_id, no)]


def _pages(database: Database) -> list[Finding]:
    try:
        said = [text for (text,) in database.query("PRAGMA quick_check(20)")]
    except DamagedLogError as error:
        return [Finding("", "unreadable", None, error.detail)]
    return [] if said == ["ok"] else [Finding("", "unreadable", None, f"{database.path}: {text}") for text in said]


def _session(database: Database, log_id: str, no: int) -> list[Finding]:
    try:
        return [*_in_log(database, log_id, no), *_in_caches(database, log_id, no), *_in_posts(database, log_id, no)]
    except StorageError as error:
        return [Finding(log_id, "unreadable", None, error.detail)]


def _in_log(database: Database, log_id: str, no: int) -> list[Finding]:
    found = scan(database, no)
    return in_batches(log_id, found.batches, found.holes)


def _in_caches(database: Database, log_id: str, no: int) -> list[Finding]:
    found = []
    rows: list[tuple[Any, ...]] = database.query("SELECT head_crc, CAST(head AS BLOB) FROM logs WHERE no = ? AND head IS NOT NULL", (no,))
    if rows and head_in(*rows[0]) is None:
        found.append(Finding(log_id, "cache", None, "its head is of no use and is passed over"))
    there = database.query("SELECT 1 FROM snapshots WHERE no = ?", (no,))
    if there and snapshots.load(database, no, end_of(database, no).head) is None:
        found.append(Finding(log_id, "cache", None, "its snapshot is of no use and is passed over"))
    return found


def _in_posts(database: Database, log_id: str, no: int) -> list[Finding]:
    rows = database.query("SELECT id, CAST(post AS BLOB) FROM posts WHERE no = ?", (no,))
    return [Finding(log_id, "stray", None, f"post {post_id} is none that can be read") for post_id, data in rows if post_in(data) is None]
