"""What ``fsck`` may find in a store, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lousho_cli.core.versions import damaged_records, newer_version
from lousho_cli.domain.records import Batch
from lousho_cli.ports.log_store import Hole

SERIOUS = frozenset({"hole", "version", "unreadable"})
"""Kinds after which a session can not be written to; the others are what an ordinary crash leaves."""


class Finding(msgspec.Struct, frozen=True):
    """One thing found.

    kind: ``void`` (a line of an owner that had been replaced, or that was never acknowledged), ``torn`` (a line
    that is not whole), ``hole`` (damage), ``version``, ``cache`` (a head or snapshot of no use), ``stray`` (something
    that is not ours), ``unreadable``. seq: where in the log, None when it has none.
    """

    session: str
    kind: str
    seq: int | None
    detail: str

    @property
    def serious(self) -> bool:
        return self.kind in SERIOUS


def in_batches(session: str, batches: Sequence[Batch], holes: Iterable[Hole]) -> list[Finding]:
    """What keeps a log from being written to: damage, records that can not be read, a newer version."""
    found = [Finding(session, "hole", hole.first, f"records {hole.first} to {hole.last} are {hole.detail}") for hole in holes]
    found += [Finding(session, "hole", seq, f"record {seq} can not be read: {why}") for seq, why in damaged_records(batches)]
    newer = newer_version(batches)
    return [*found, Finding(session, "version", None, newer)] if newer else found
