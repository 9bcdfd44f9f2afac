"""Bytes of a log to its valid batches. Pure: no file is opened here, nothing is repaired.

A line counts unless it is void. Void is a line that is torn (its checksum fails, or its
newline is missing), one of an owner that was replaced (a lower epoch than a line before
it), and one whose seq a later owner took again: that owner removed the old owner's file
before it read the log, so what it did not see was never acknowledged.

Where seqs are missing, the line behind the gap says how far the log was synced when it was
written. If the missing ones were synced, that is damage: a hole. Otherwise they and all that
stands on them were never acknowledged, as after a power cut, and the line is void as well.
"""

from __future__ import annotations

import zlib

import msgspec

from lousho_cli.core.trimming import has_base
from lousho_cli.domain.codec import decode_line
from lousho_cli.domain.records import Batch
from lousho_cli.ports.log_store import Hole

MARK_BYTES = 4096
"""How many bytes before an offset are compared, to know that the log behind it is still the same."""


class Position(msgspec.Struct, frozen=True):
    """A place right behind a valid line, from which a log can be read on.

    offset: bytes from the start of the file.
    head, epoch, synced: those of the log up to there.
    mark: CRC32 of the last ``MARK_BYTES`` before the offset.
    """

    offset: int = 0
    head: int = 0
    epoch: int = 0
    synced: int = 0
    mark: int = 0


START = Position()


class Void(msgspec.Struct, frozen=True):
    """A line that does not count: where it begins, its seq when it has one, and why."""

    offset: int
    seq: int | None
    why: str


class Scan(msgspec.Struct):
    """What a stretch of a log holds.

    batches: the valid ones behind the start; ``ends`` gives for each the offset behind its line.
    head: the last valid seq. epoch: the highest of any whole line, void ones included.
    synced: the last seq known to be on the disk. size: the offset behind the stretch.
    rewound: lines before the start have become void, so the log must be read from its beginning.
    """

    start: Position
    batches: list[Batch] = []
    ends: list[int] = []
    head: int = 0
    epoch: int = 0
    synced: int = 0
    holes: list[Hole] = []
    voids: list[Void] = []
    size: int = 0
    rewound: bool = False

    @property
    def offset(self) -> int:
        """The offset behind the last valid line."""
        return self.ends[-1] if self.ends else self.start.offset

    @property
    def place(self) -> Position:
        """Where reading may go on behind this stretch, still without its mark."""
        epoch = self.batches[-1].epoch if self.batches else self.start.epoch
        return Position(self.offset, self.head, epoch, self.synced)


def scan(data: bytes, start: Position = START) -> Scan:
    """Reads ``data``, the bytes of a log from ``start.offset`` on. Never raises."""
    found = Scan(start, head=start.head, epoch=start.epoch, synced=start.synced, size=start.offset + len(data))
    batches, ends, voids = found.batches, found.ends, found.voids
    lines = data.split(b"\n")
    rest = lines.pop()
    expected, epoch, offset = start.head + 1, start.epoch, start.offset
    for line in lines:
        begin = offset
        offset += len(line) + 1
        if not line:
            continue
        batch = decode_line(line)
        if batch is None:
            voids.append(Void(begin, None, "torn: its checksum does not fit"))
            continue
        if batch.seq != expected or batch.epoch < epoch:
            found.head, found.epoch = expected - 1, epoch
            why = _place(found, batch, begin)
            epoch = found.epoch
            if why:
                voids.append(Void(begin, batch.seq, why))
                continue
        batches.append(batch)
        ends.append(offset)
        expected, epoch = batch.seq + 1, batch.epoch
    if rest:
        voids.append(Void(offset, None, "torn: it has no end of line"))
    found.head, found.epoch = expected - 1, epoch
    found.synced = max([start.synced, *map(_synced_before, batches)])
    return found


def _place(found: Scan, batch: Batch, begin: int) -> str:
    """Finds the place of a line that is not simply the next; '' when it counts, else why it is void."""
    if batch.epoch < found.epoch:
        return f"of epoch {batch.epoch}, which had been replaced by epoch {found.epoch}"
    newer = batch.epoch > found.epoch
    found.epoch = batch.epoch
    if batch.seq <= found.head:
        if not newer:
            return "its seq was taken before"
        _take_back(found, batch.seq)
        return ""
    if not found.batches and found.start.head == 0 and has_base(batch):
        return ""
    first = found.head + 1
    if batch.seq == first:
        return ""
    if _synced_before(batch) < first:
        return "what should stand before it was never synced"
    found.holes.append(Hole(first, batch.seq - 1, f"missing before byte {begin}"))
    return ""


def _take_back(found: Scan, seq: int) -> None:
    """Makes void what stands at ``seq`` and behind: a later owner began there without having seen it."""
    while found.batches and found.batches[-1].seq >= seq:
        gone = found.batches.pop()
        found.ends.pop()
        found.voids.append(Void(found.offset, gone.seq, f"its seq was taken by a later owner than epoch {gone.epoch}"))
    found.holes = [hole for hole in found.holes if hole.first < seq]
    if found.start.head >= seq:
        found.rewound = True


def _synced_before(batch: Batch) -> int:
    return batch.seq - 1 if batch.sync is None else batch.sync


def mark_of(tail: bytes) -> int:
    """The mark of an offset, from the ``MARK_BYTES`` that stand before it, or all there are."""
    return zlib.crc32(memoryview(tail)[-MARK_BYTES:])
