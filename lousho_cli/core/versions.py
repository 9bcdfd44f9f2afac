"""Which logs this version may write to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from lousho_cli.domain.records import FORMAT, Base, Batch, Claimed, Created, Foreign, Forked, Within
from lousho_cli.errors import DamagedLogError, LogVersionError


def newer_version(batches: Iterable[Batch]) -> str:
    """What in these batches a newer version must have written, in words; '' for nothing."""
    for batch in batches:
        for record in _all_of(batch):
            if isinstance(record, Foreign):
                if record.reserved:
                    return f"record {batch.seq} has the unknown type {record.type}"
            elif isinstance(record, (Created, Forked, Base, Claimed)) and record.format > FORMAT:
                return f"record {batch.seq} has format {record.format}, this version knows {FORMAT}"
    return ""


def require_known(log_id: str, batches: Iterable[Batch]) -> None:
    """Lets only a log pass that this version knows all of.

    Raises:
        LogVersionError: a newer version wrote it.
    """
    newer = newer_version(batches)
    if newer:
        raise LogVersionError(
            f"session {log_id} was written by a newer version: {newer}", hint="Update lousho; it can still be shown as it is."
        )


def damaged_records(batches: Iterable[Batch]) -> list[tuple[int, str]]:
    """The records of a type we know in a shape it never had: the seq of each, and what is wrong, in words."""
    return [
        (batch.seq, f"its {record.type} is in a shape that no version writes")
        for batch in batches
        for record in _all_of(batch)
        if isinstance(record, Foreign) and record.damaged
    ]


def _all_of(batch: Batch) -> Iterator[Any]:
    """The records of a batch, those of sub-agents included."""
    for record in batch.records:
        if isinstance(record, Within):
            yield from record.records
        else:
            yield record


def require_readable(log_id: str, batches: Iterable[Batch]) -> None:
    """Lets only a log pass all of whose records can be read; ask ``require_known`` first.

    Raises:
        DamagedLogError: the detail names the first that can not, by its seq.
    """
    for seq, why in damaged_records(batches):
        raise DamagedLogError(
            f"session {log_id} is damaged: record {seq} can not be read: {why}",
            hint="See what stands with: lousho show, then repair it with: lousho fsck --repair",
        )


class Missing(Protocol):
    """A gap in a log: the first and the last seq that are not there, and where."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def detail(self) -> str: ...


def require_writable(log_id: str, batches: Sequence[Batch], holes: Sequence[Missing]) -> None:
    """Lets only a log pass that may be written to as it is.

    Raises:
        DamagedLogError: it has a hole, or a record that can not be read.
        LogVersionError: a newer version wrote it.
    """
    require_known(log_id, batches)
    require_readable(log_id, batches)
    for hole in holes[:1]:
        raise DamagedLogError(
            f"session {log_id} is damaged: records {hole.first} to {hole.last} are {hole.detail}",
            hint="See what stands with: lousho show, then repair it with: lousho fsck --repair",
        )
