"""What the rows of a log hold: its batches, and what is damage among them.

In a database nothing is ever torn, so whatever is missing between two batches, or does not fit its checksum, is damage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from lousho_cli.core.trimming import has_base
from lousho_cli.domain.codec import decode_line
from lousho_cli.domain.records import Batch
from lousho_cli.domain.state import State
from lousho_cli.ports.log_store import Hole, LogRead


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

    def behind(self, after: int) -> LogRead:
        """What a read finds behind ``after``; this begins there, or before."""
        batches = self.batches
        if batches and batches[0].seq <= after:
            batches = [batch for batch in batches if batch.seq > after]
        return LogRead(tuple(batches), self.head, self.epoch, tuple(self.holes), self.synced)

    def hole(self, first: int, last: int, detail: str) -> None:
        """Notes what is missing; what goes on where the last hole ended, for the same reason, is one with it."""
        if self.holes and self.holes[-1].last == first - 1 and self.holes[-1].detail == detail:
            first = self.holes.pop().first
        self.holes.append(Hole(first, last, detail))


class Kept(NamedTuple):
    """What a claim has read, for its owner, who reads it next: the log behind ``after``, and the state there."""

    state: State | None
    after: int
    found: Scan

    def ends_at(self, head: int, epoch: int) -> bool:
        """Whether a log that ends there holds nothing else."""
        return self.found.head == head and self.found.epoch == epoch


def scan_rows(rows: Iterable[tuple[int, bytes]], after: int = 0) -> Scan:
    """Rows of (seq, line) to batches; never raises. ``head`` is the seq of the last batch that can be read."""
    found = Scan(head=after)
    expected, batches = after + 1, found.batches
    for seq, line in rows:
        batch = decode_line(line)
        found.size += len(line)
        if batch is None or batch.seq != seq:
            found.hole(expected, seq, "damaged: the checksum does not fit")
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
        found.hole(expected, batch.seq - 1, "missing")
