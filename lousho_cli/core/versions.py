"""Which logs this version may write to."""

from __future__ import annotations

from collections.abc import Iterable

from lousho_cli.domain.records import FORMAT, Base, Batch, Claimed, Created, Foreign, Forked
from lousho_cli.errors import LogVersionError


def newer_version(batches: Iterable[Batch]) -> str:
    """What in these batches a newer version must have written, in words; '' for nothing."""
    for batch in batches:
        for record in batch.records:
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
