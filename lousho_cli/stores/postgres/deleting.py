"""Removing a session, and what a trim left behind.

The id keeps its highest epoch, so that no earlier owner of it can ever write again, and goes on under another number. Its records
are then nobody's, and go in small parts: no statement holds up others for long, however large the log was. Parts that are left by
a process that died go with the next deletion.
"""

from __future__ import annotations

from lousho_cli.errors import SessionBusyError
from lousho_cli.stores.postgres.claims import living_owner
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.presence import Presence

PART = 500

_LOCK = """SELECT no, head > 0 OR EXISTS (SELECT 1 FROM {s}.posts WHERE posts.no = logs.no) FROM {s}.logs WHERE id = %s FOR UPDATE"""
_RENEW = """UPDATE {s}.logs SET no = DEFAULT, base = 0, head = 0, head_epoch = 0, synced = 0, owner = NULL, grip = NULL, host = NULL,
    since = NULL, ttl_ms = NULL, wake_at = NULL, due_ms = NULL, waits = false, lane = DEFAULT, offered_ms = 0 WHERE id = %s"""
_PART = "DELETE FROM {s}.records WHERE no = %s AND seq IN (SELECT seq FROM {s}.records WHERE no = %s AND seq < %s ORDER BY seq LIMIT %s)"
_ALL = 1 << 62


class Deleting:
    """One deletion of a log. Begun again after a lost connection, it knows by its number what it removed already."""

    def __init__(self, presence: Presence, log_id: str) -> None:
        self._presence, self._id = presence, log_id
        self._tried: tuple[int, bool] | None = None

    def __call__(self, hand: Hand) -> bool:
        """Removes the log with all its caches and posts; False when there was none.

        Raises:
            SessionBusyError: somebody drives it.
        """
        with hand.transaction():
            rows = hand.rows(_LOCK, (self._id,))
            if not rows:
                return False
            no, there = rows[0]
            if self._tried is not None and self._tried[0] != no:
                return self._tried[1]  # what stands there now was begun behind it
            owner = living_owner(hand, self._presence, self._id)
            if owner is not None:
                raise SessionBusyError(self._id, owner.describe())
            self._tried = (no, bool(there))
            hand.run(_RENEW, (self._id,))
            for table in ("posts", "snapshots", "heads"):
                hand.run(f"DELETE FROM {{s}}.{table} WHERE no = %s", (no,))
            if there:
                hand.run("INSERT INTO {s}.trash (no) VALUES (%s) ON CONFLICT DO NOTHING", (no,))
        return bool(there)


def sweep(hand: Hand) -> None:
    """Removes the records of deleted logs, part by part."""
    for (no,) in hand.rows("SELECT no FROM {s}.trash LIMIT 100"):
        drop_before(hand, no, _ALL)
        hand.run("DELETE FROM {s}.trash WHERE no = %s", (no,))


def drop_before(hand: Hand, no: int, seq: int) -> None:
    """Removes the records of a log before ``seq``, part by part."""
    while hand.run(_PART, (no, no, seq, PART)) == PART:
        pass
