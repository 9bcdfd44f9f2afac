"""A claim as its own process sees it: until when it may go by it, whether it lost it, and what tells that a snapshot is due."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from lousho_cli.core.lease import renewal_s
from lousho_cli.errors import OwnershipLostError, SDKError
from lousho_cli.ports.log_store import Claim
from lousho_cli.stores.machine import steady

_MARGIN = 0.9  # an owner stops this early, so that clocks need not agree and nothing it begins can outlast its lease


class Terms(NamedTuple):
    """How a log was taken: ``renew_ms`` is a third of ``ttl_ms`` where it is None, ``since`` a moment of ``steady`` not behind that."""

    log_id: str
    host: str
    ttl_ms: int
    renew_ms: int | None
    since: float


class Lease:
    """The right to write one log, for as long as it is renewed.

    synced: the last seq that is known to be durable.
    failure: why this writer is dead, None while it lives. lost: another owner has the log. released: this one gave it back.
    bytes_since_snapshot, snapshot_size: what tells whether a snapshot is due.
    renew_s: seconds between two renewals.
    """

    def __init__(self, terms: Terms, epoch: int) -> None:
        self.lost = False
        self.released = False
        self.log_id, self.host, self.ttl_ms, self.epoch = terms.log_id, terms.host, terms.ttl_ms, epoch
        self.renew_s = renewal_s(terms.ttl_ms, terms.renew_ms)
        self.synced = 0
        self.bytes_since_snapshot = 0
        self.snapshot_size = 0
        self.failure: SDKError | None = None
        self._deadline = 0.0
        self.extend(terms.since)

    @property
    def overdue(self) -> bool:
        """Whether this owner could not renew in time and must start no new effect."""
        return self.lost or self.released or steady() >= self._deadline

    def late_at(self, moment: float) -> bool:
        """Whether its time was up at a moment, if nothing came between."""
        return moment >= self._deadline

    def extend(self, renewed_at: float) -> None:
        """Moves the deadline: the lease was renewed not before ``renewed_at``."""
        self._deadline = renewed_at + self.ttl_ms / 1000 * _MARGIN

    def measured(self, size: int) -> None:
        """Notes that a snapshot, or a base, of ``size`` bytes covers all there is."""
        self.bytes_since_snapshot, self.snapshot_size = 0, size

    def gone(self) -> OwnershipLostError:
        """The error for a log that is another's, or nobody's."""
        return OwnershipLostError(self.log_id, "another owner", hint="Look at what it did with: lousho show " + self.log_id)


C = TypeVar("C", bound=Lease)


def own(claim: Claim, kind: type[C]) -> C:
    """A claim as the store that gave it knows it.

    Raises:
        TypeError: another store gave it.
    """
    if not isinstance(claim, kind):
        raise TypeError(f"a claim of another store: {claim!r}")
    return claim
