"""What ``fsck`` may find in a store, whatever its kind."""

from __future__ import annotations

import msgspec

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
