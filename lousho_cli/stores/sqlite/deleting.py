"""Removing a session. Its number and its highest epoch stay, so that no earlier owner of it can ever write again."""

from __future__ import annotations

import sqlite3

from lousho_cli.stores.sqlite.claims import require_free
from lousho_cli.stores.sqlite.keys import first_key, last_key
from lousho_cli.stores.sqlite.logs import clear


def delete(connection: sqlite3.Connection, path: str, log_id: str) -> bool:
    """Removes a log with all its caches and posts; False when there was none.

    Raises:
        SessionBusyError: somebody drives it.
    """
    rows = connection.execute("SELECT no FROM logs WHERE id = ?", (log_id,)).fetchall()
    if not rows:
        return False
    require_free(connection, path, log_id)
    no = rows[0][0]
    there = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM batches WHERE key BETWEEN ? AND ?) OR EXISTS (SELECT 1 FROM posts WHERE no = ?)",
        (first_key(no), last_key(no), no),
    ).fetchall()
    clear(connection, no)
    connection.execute("DELETE FROM posts WHERE no = ?", (no,))
    connection.execute(
        "UPDATE logs SET owner = NULL, host = NULL, since = NULL, ttl_ms = NULL, wake_at = NULL, synced = 0 WHERE no = ?", (no,)
    )
    return bool(there[0][0])
