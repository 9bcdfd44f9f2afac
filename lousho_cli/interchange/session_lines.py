"""A session as JSON lines: a header, then each batch as a log has it. Written by ``export --to jsonl``, read by ``import``.

A line carries its checksum, as in a log, so a reader tells a torn or changed one from a good one (``domain.codec.decode_line``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from lousho_cli.domain.codec import encode_line, encode_value
from lousho_cli.domain.records import FORMAT, Batch

HEADER = "lousho.export"
"""The type of the first line; no record has it."""


class Header(msgspec.Struct, frozen=True, gc=False, tag=HEADER):
    """The first line. ``format``: of the records. ``redacted``: texts were taken out of it. ``damaged``: it holds what stood of a log."""

    session: str
    format: int = FORMAT
    redacted: bool = False
    damaged: bool = False


_header = msgspec.json.Decoder(Header)


def session_lines(header: Header, batches: Iterable[Batch]) -> Iterator[bytes]:
    """The lines, each with its newline."""
    yield encode_value(header) + b"\n"
    for batch in batches:
        yield encode_line(batch)


def header_of(line: bytes) -> Header | None:
    """The header in a first line; None where it is none."""
    try:
        return _header.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
