"""The batches of a log: reading them, and what is damage among them.

In a database nothing is ever torn, so whatever is missing between two batches, or does not fit its checksum, is damage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lousho_cli.core.trimming import has_base
from lousho_cli.domain.codec import decode_line, encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.ports.log_store import Hole
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import Line

# LATERAL: the log is looked up first, and of sixteen parts its own is read, in one view of the database.
_READ = """SELECT l.head, l.head_epoch, l.synced, r.seq, r.line FROM {s}.logs l
    LEFT JOIN LATERAL (SELECT seq, line FROM {s}.records WHERE records.no = l.no AND seq > %s AND seq >= l.base ORDER BY seq) r ON true
    WHERE l.id = %s ORDER BY r.seq"""
_END = "SELECT head, head_epoch FROM {s}.logs WHERE id = %s"


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
    found = scan_rows([(seq, line) for *_, seq, line in rows if seq is not None], after)
    if found.head < head and head > after:
        _hole(found, max(found.head, after) + 1, head, "missing")
    found.head, found.epoch = head, epoch
    found.synced = synced if synced < head else None
    return found


def scan_rows(rows: Iterable[tuple[int, str]], after: int = 0) -> Scan:
    """Rows of (seq, line) to batches; never raises."""
    found = Scan(head=after)
    expected, batches = after + 1, found.batches
    for seq, text in rows:
        line = text.encode()
        batch = decode_line(line)
        found.size += len(line)
        if batch is None or batch.seq != seq:
            _hole(found, expected, seq, "damaged: the checksum does not fit")
        else:
            if seq != expected:
                _gap(found, batch, expected, len(line))
            batches.append(batch)
            if not found.base and len(batches) == 1 and seq == 1 and has_base(batch):
                found.base = len(line)
        found.head = seq
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
