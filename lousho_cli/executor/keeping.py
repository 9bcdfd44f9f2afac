"""How a log that is owned is kept: how long without renewal, and when its fold is cached or its old records go."""

from __future__ import annotations

import msgspec

from lousho_cli.core.snapshot_timing import SnapshotTiming
from lousho_cli.ports.log_store import DEFAULT_TTL_MS


class Keeping(msgspec.Struct, frozen=True):
    """ttl_ms, renew_ms: see ``Claims.claim``. snapshots: when the fold is cached. trims: where that is due, the log becomes its state."""

    ttl_ms: int = DEFAULT_TTL_MS
    renew_ms: int | None = None
    snapshots: SnapshotTiming = SnapshotTiming()
    trims: bool = False


DEFAULT_KEEPING = Keeping()
