"""The batches of a log: reading them, and what they look like as rows."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import Line
from lousho_cli.stores.row_scan import Scan, scan_rows

# LATERAL: the log is looked up first, and of sixteen parts its own is read, in one view of the database.
_READ = """SELECT l.head, l.head_epoch, l.synced, r.seq, r.line FROM {s}.logs l
    LEFT JOIN LATERAL (SELECT seq, line FROM {s}.records WHERE records.no = l.no AND seq > %s AND seq >= l.base ORDER BY seq) r ON true
    WHERE l.id = %s ORDER BY r.seq"""
_END = "SELECT head, head_epoch FROM {s}.logs WHERE id = %s"


def lines_of(batches: Sequence[Batch]) -> list[Line]:
    """The rows of batches."""
    return [(batch.seq, encode_line(batch)[:-1].decode()) for batch in batches]


def end_of(hand: Hand, log_id: str) -> tuple[int, int]:
    """Where a log ends: its last seq and that one's epoch, zeros for an empty one or none."""
    rows = hand.rows(_END, (log_id,))
    return (rows[0][0], rows[0][1]) if rows else (0, 0)


def scan(hand: Hand, log_id: str, after: int = 0) -> Scan:
    """The log behind ``after``."""
    rows = hand.rows(_READ, (after, log_id))
    if not rows:
        return Scan()
    head, epoch, synced = rows[0][:3]
    lines = [(seq, line.encode()) for *_, seq, line in rows if seq is not None]
    found = scan_rows(lines, after)
    last = lines[-1][0] if lines else after
    if last < head:
        found.hole(last + 1, head, "missing")
    found.head, found.epoch = head, epoch
    found.synced = synced if synced < head else None
    return found
