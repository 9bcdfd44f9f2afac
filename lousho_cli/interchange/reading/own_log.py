"""Our own sessions as JSON lines: what ``export`` wrote, or a log as it lies on disk."""

from __future__ import annotations

import msgspec

from lousho_cli.domain.codec import LINE_BEGINS, decode_line
from lousho_cli.domain.records import Batch
from lousho_cli.interchange.reading.values import BadLine, Lines
from lousho_cli.interchange.session_lines import header_of

KIND = "lousho"


class OwnLog(msgspec.Struct, frozen=True):
    """A session's batches as they were, and the lines that are none."""

    id: str
    batches: tuple[Batch, ...]
    bad: tuple[BadLine, ...] = ()


def recognises(line: bytes) -> bool:
    """Whether a file that begins with this line is one."""
    return line.startswith(LINE_BEGINS) or header_of(line.strip()) is not None


def read(lines: Lines, name: str) -> OwnLog:
    """A session; ``name`` is its id where no header says it. A void line, as a replaced owner leaves it, is passed over.

    Lines that are missing, or that stand twice, are named like those that can not be read.
    """
    session = name
    batches: list[Batch] = []
    bad: list[BadLine] = []
    for number, raw in enumerate(lines(), 1):
        line = raw.removesuffix(b"\n")
        if not line.strip():
            continue
        header = header_of(line) if not batches else None
        if header is not None:
            session = header.session or name
            continue
        batch = decode_line(line)
        if batch is None:
            bad.append(BadLine(number, "its checksum does not fit: it is torn or was changed"))
        elif not batches or batch.epoch >= batches[-1].epoch:
            why = _out_of_order(batches, batch)
            if why is not None and (batch.seq <= batches[-1].seq or not bad or bad[-1].line != number - 1):
                bad.append(BadLine(number, why))
            if not batches or batch.seq > batches[-1].seq:
                batches.append(batch)
    return OwnLog(session, tuple(batches), tuple(bad))


def _out_of_order(batches: list[Batch], batch: Batch) -> str | None:
    """Why a batch can not stand behind ``batches``. A later owner's takes the place of what an earlier one wrote from there on."""
    while batches and batches[-1].seq >= batch.seq and batches[-1].epoch < batch.epoch:
        batches.pop()
    if not batches or batch.seq == batches[-1].seq + 1:
        return None
    if batch.seq <= batches[-1].seq:
        return f"batch {batch.seq} stands there again"
    return f"batch {batches[-1].seq + 1} should stand there and is missing"
