"""The batches of a log: reading them, and what they look like as rows."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import Line
from lousho_cli.stores.row_scan import Scan, scan_rows


def lines_of(batches: Sequence[Batch]) -> list[Line]:
    """The rows of batches."""
    return [(batch.seq, encode_line(batch)[:-1].decode()) for batch in batches]


def end_of(hand: Hand, log_id: str) -> tuple[int, int]:
    """Where a log ends: its last seq and that one's epoch, zeros for an empty one or none."""
    for head, epoch in hand.call("end_of", log_id):
        return int(head), int(epoch)
    return 0, 0


def scan(hand: Hand, log_id: str, after: int = 0) -> Scan:
    """The log behind ``after``."""
    rows = hand.call("read_log", log_id, after)
    if not rows:
        return Scan()
    head, epoch, synced = map(int, rows[0][:3])
    lines = [(int(seq), line) for seq, _, _, line in rows[1:]]
    found = scan_rows(lines, after)
    last = lines[-1][0] if lines else after
    if last < head:
        found.hole(last + 1, head, "missing")
    found.head, found.epoch = head, epoch
    found.synced = synced if synced < head else None
    return found
