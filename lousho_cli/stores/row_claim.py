"""The right to write one log of a database, as this process holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lousho_cli.domain.records import Batch
from lousho_cli.errors import OwnershipLostError, SDKError, StorageError
from lousho_cli.stores.lease import Lease, Terms


class Held(NamedTuple):
    """What tells a claim from every other in the database."""

    no: int
    token: str
    epoch: int


class RowClaim(Lease):
    """One row of ``logs`` that names us.

    head: the last seq of the log once all that was asked for is written.

    Args:
        forgotten: frees the log where the claim is dropped without being given back; the collector may call it at any moment.
    """

    def __init__(self, terms: Terms, held: Held, forgotten: Callable[[Any], None]) -> None:
        self.held, self._forgotten = held, forgotten
        super().__init__(terms, held.epoch)
        self.head = 0

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
        return self.gone()

    def fail(self, error: SDKError) -> None:
        """Notes that this writer is dead: what was asked for in its name may not stand in the log."""
        self.failure = self.failure or error

    def is_followed_by(self, batches: Sequence[Batch]) -> bool:
        """Whether batches are of the claim's epoch and the next its log gets."""
        epoch, seq = self.epoch, self.head
        for batch in batches:
            seq += 1
            if batch.seq != seq or batch.epoch != epoch:
                return False
        return True

    def not_next(self, batches: Sequence[Batch]) -> StorageError:
        """The error for batches that do not follow."""
        given = ", ".join(f"batch {batch.seq} of epoch {batch.epoch}" for batch in batches)
        return StorageError(f"{given} does not follow the log of session {self.log_id}, which is at {self.head} in epoch {self.epoch}")

    def __del__(self) -> None:
        if not self.released:
            self._forgotten(self)  # nobody can give it back any more
