"""Looks through a schema and says what it finds; changes nothing."""

from __future__ import annotations

from functools import partial

from lousho_cli.core.session_ids import check_session_id
from lousho_cli.errors import StorageError
from lousho_cli.stores.findings import Finding, in_batches
from lousho_cli.stores.postgres import snapshots
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.driver import Row
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.logs import scan
from lousho_cli.stores.rows import head_in, post_in

_NOWHERE = """SELECT count(*), min(no) FROM {s}.records r
    WHERE NOT EXISTS (SELECT 1 FROM {s}.logs l WHERE l.no = r.no) AND NOT EXISTS (SELECT 1 FROM {s}.trash t WHERE t.no = r.no)
    HAVING count(*) > 0"""


async def check(database: Database) -> list[Finding]:
    """Everything worth saying about a store, session by session.

    Raises:
        StorageError: it can not be read.
    """
    nothing: list[Row] = []
    ids = await database.read(lambda hand: hand.rows("SELECT id FROM {s}.logs ORDER BY id"), nothing)
    found = [finding for (log_id,) in ids for finding in await check_session(database, log_id)]
    for count, no in await database.read(lambda hand: hand.rows(_NOWHERE), nothing):
        found.append(Finding("", "stray", None, f"{count} batches belong to no session, the first to log number {no}"))
    return found


async def check_session(database: Database, session_id: str) -> list[Finding]:
    """Everything worth saying about one session."""
    try:
        return await database.read(partial(_session, check_session_id(session_id)), [])
    except StorageError as error:
        return [Finding(session_id, "unreadable", None, error.detail)]


def _session(log_id: str, hand: Hand) -> list[Finding]:
    return [*_in_log(hand, log_id), *_in_caches(hand, log_id), *_in_posts(hand, log_id)]


def _in_log(hand: Hand, log_id: str) -> list[Finding]:
    found = scan(hand, log_id)
    return in_batches(log_id, found.batches, found.holes)


def _in_caches(hand: Hand, log_id: str) -> list[Finding]:
    of_log = "no = (SELECT no FROM {s}.logs WHERE id = %s)"
    rows = hand.rows(f"SELECT crc, head FROM {{s}}.heads WHERE {of_log}", (log_id,))
    bad = [crc for crc, text in rows if head_in(crc, text.encode()) is None]
    found = [Finding(log_id, "cache", None, "its head is of no use and is passed over") for _ in bad]
    if hand.rows(f"SELECT 1 FROM {{s}}.snapshots WHERE {of_log}", (log_id,)) and snapshots.load(hand, log_id) is None:
        found.append(Finding(log_id, "cache", None, "its snapshot is of no use and is passed over"))
    return found


def _in_posts(hand: Hand, log_id: str) -> list[Finding]:
    rows = hand.rows("SELECT id, post FROM {s}.posts WHERE no = (SELECT no FROM {s}.logs WHERE id = %s)", (log_id,))
    return [Finding(log_id, "stray", None, f"post {post_id} is none that can be read") for post_id, text in rows if post_in(text) is None]
