"""When the fold of a log is worth caching."""

from __future__ import annotations

import msgspec


class SnapshotTiming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the owner caches the fold: after so many bytes of new records, or so long after the first of them."""

    bytes: int = 1_000_000
    ms: int = 300_000


DEFAULT_TIMING = SnapshotTiming()


def snapshot_due(new_bytes: int, snapshot_size: int, waited_ms: int = 0, timing: SnapshotTiming = DEFAULT_TIMING) -> bool:
    """Whether a new snapshot is worth its cost.

    A large one is written more seldom than asked: each costs its whole size again, so the log first grows by half of that.

    Args:
        new_bytes: how much of the log no snapshot has; snapshot_size: the bytes of the last one, 0 for none.
        waited_ms: how long ago the first record was written that no snapshot has.
    """
    grown = new_bytes >= timing.bytes and new_bytes >= snapshot_size // 2
    return new_bytes > 0 and (grown or waited_ms >= timing.ms)
