"""The right to write one log, as this process holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lousho_cli.core.lease import renewal_s
from lousho_cli.errors import OwnershipLostError, SDKError
from lousho_cli.stores.machine import steady

_MARGIN = 0.9  # an owner stops this early, so that nothing it begins can outlast its lease

Line = tuple[int, str]
"""A row to be: its seq, and its text."""


class Held(NamedTuple):
    """What tells a claim from every other in the database."""

    no: int
    token: str
    epoch: int


class PostgresClaim:
    """One row of ``logs`` that names us.

    head: the last seq of the log once all that was asked for is written.
    synced: the last seq that the server is known to have on its disk.
    tail: the lines behind it, in case the server loses them.
    failure: why this writer is dead, None while it lives.
    bytes_since_snapshot, snapshot_size: what tells whether a snapshot is due.
    renew_s: seconds between two renewals. asked_at: when the claim was asked for.
    """

    def __init__(
        self,
        log_id: str,
        host: str,
        ttl_ms: int,
        held: Held,
        forgotten: Callable[[PostgresClaim], None],
        renew_ms: int | None,
        asked_at: float,
    ) -> None:
        self.log_id, self.host, self.ttl_ms, self.held, self.epoch = log_id, host, ttl_ms, held, held.epoch
        self.renew_s = renewal_s(ttl_ms, renew_ms)
        self._forgotten = forgotten
        self.head = 0
        self.synced = 0
        self.tail: list[Line] = []
        self.bytes_since_snapshot = 0
        self.snapshot_size = 0
        self.failure: SDKError | None = None
        self.lost = False
        self.released = False
        self._deadline = 0.0
        self.extend(asked_at)

    @property
    def overdue(self) -> bool:
        """Whether this owner could not renew in time and must start no new effect."""
        return self.lost or self.released or self.late_at(steady())

    def late_at(self, moment: float) -> bool:
        """Whether its time was up at a moment, if nothing came between."""
        return moment >= self._deadline

    def extend(self, renewed_at: float) -> None:
        """Moves the deadline: the lease was renewed not before ``renewed_at``."""
        self._deadline = renewed_at + self.ttl_ms / 1000 * _MARGIN

    def measured(self, size: int) -> None:
        """Notes that a snapshot, or a base, of ``size`` bytes covers all there is."""
        self.bytes_since_snapshot, self.snapshot_size = 0, size

    def on_disk(self, seq: int) -> None:
        """Notes that the server has all up to ``seq`` on its disk."""
        self.synced = max(self.synced, seq)
        self.tail = [line for line in self.tail if line[0] > self.synced]

    def require(self) -> None:
        """Lets only an owner pass whose writer is alive.

        Raises:
            OwnershipLostError: another owner has the log, or this one gave it back.
            StorageError: an earlier write failed, so only a new claim may write.
        """
        if self.lost or self.released:
            raise self.lose()
        if self.failure is not None:
            raise self.failure

    def lose(self) -> OwnershipLostError:
        """Notes that the log is another's, or nobody's; gives the error that says so."""
        self.lost = True
        return OwnershipLostError(self.log_id, "another owner", hint="Look at what it did with: lousho show " + self.log_id)

    def fail(self, error: SDKError) -> None:
        """Notes that this writer is dead: what was asked for in its name may not stand in the log."""
        self.failure = self.failure or error

    def __del__(self) -> None:
        if not self.released:
            self._forgotten(self)  # nobody can give it back any more
