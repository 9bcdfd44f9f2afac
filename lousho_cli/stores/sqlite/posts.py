"""What others leave for the owner of a session, and who looks on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Sequence

from lousho_cli.core.posts import check_same_post
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import FOLLOW_MS
from lousho_cli.stores.bell import ring
from lousho_cli.stores.rows import post_in, posts_in
from lousho_cli.stores.sqlite.claims import number_of
from lousho_cli.stores.sqlite.database import Database

_WAITING = "SELECT n, CAST(post AS BLOB) FROM posts WHERE no = (SELECT no FROM logs WHERE id = ?) ORDER BY n"


def put(connection: sqlite3.Connection, log_id: str, post: Post) -> None:
    """Leaves a post. One that is there already stays as it is.

    Raises:
        InputRejectedError: another one with this id is waiting.
    """
    there = connection.execute(
        "SELECT CAST(post AS BLOB) FROM posts WHERE no = (SELECT no FROM logs WHERE id = ?) AND id = ?", (log_id, post.id)
    ).fetchall()
    waiting = post_in(there[0][0]) if there else None
    if waiting is not None:
        check_same_post(waiting, post)
        return
    no = number_of(connection, log_id)
    # By the clock, so that no number comes again once its post was taken: who watches would take it for the old one.
    ((last,),) = connection.execute("SELECT coalesce(max(n), 0) FROM posts WHERE no = ?", (no,)).fetchall()
    n = max(time.time_ns() // 1000, last + 1)
    connection.execute("INSERT INTO posts (no, n, id, post) VALUES (?, ?, ?, CAST(? AS TEXT))", (no, n, post.id, encode_value(post)))


def waiting(database: Database, log_id: str) -> tuple[int, tuple[Post, ...]]:
    """The number of the newest post, 0 for none, and the posts, oldest first. A row that is no post is passed over; ``fsck`` names it.

    Raises:
        StorageError: they can not be read.
    """
    return posts_in(database.query(_WAITING, (log_id,)))


def discard(connection: sqlite3.Connection, log_id: str, post_ids: Sequence[str]) -> None:
    """Removes posts; those that are gone already are no error."""
    connection.executemany(
        "DELETE FROM posts WHERE no = (SELECT no FROM logs WHERE id = ?) AND id = ?", [(log_id, post_id) for post_id in post_ids]
    )


def newest(database: Database, log_id: str) -> int:
    """What tells that something came: the number of the newest post, 0 for none."""
    rows = database.query("SELECT max(n) FROM posts WHERE no = (SELECT no FROM logs WHERE id = ?)", (log_id,))
    return (rows[0][0] or 0) if rows else 0


def posted(database: Database) -> frozenset[str]:
    """The logs for which something was left."""
    rows = database.query("SELECT DISTINCT logs.id FROM posts JOIN logs ON logs.no = posts.no")
    return frozenset(row[0] for row in rows)


def left(database: Database, log_ids: Collection[str]) -> Collection[str]:
    """The logs for which something was left, among them those of ``log_ids``; all of these where it can not be read now."""
    try:
        return posted(database)
    except StorageError:
        return tuple(log_ids)  # each learns it for itself


def ring_owner(database: Database, log_id: str) -> None:
    """Wakes the process that drives a log. It finds what was left in any case."""
    for (pid,) in database.query("SELECT pid FROM owners WHERE token = (SELECT owner FROM logs WHERE id = ?)", (log_id,)):
        ring(pid)


def follow(connection: sqlite3.Connection, log_id: str) -> None:
    """Leaves the time at which somebody looked on."""
    connection.execute("UPDATE logs SET followed_ms = ? WHERE id = ?", (_now_ms(), log_id))


def followed(database: Database, log_id: str) -> bool:
    """Whether somebody looked on in the last seconds."""
    rows = database.query("SELECT followed_ms FROM logs WHERE id = ?", (log_id,))
    return bool(rows) and rows[0][0] is not None and _now_ms() - rows[0][0] < FOLLOW_MS


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
