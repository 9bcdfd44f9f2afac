"""Keeps the claims of one store object on a server: its lease is renewed, and logs are freed, on a connection of its own thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from lousho_cli.errors import LogVersionError
from lousho_cli.stores.lease_keeper import LeaseKeeper
from lousho_cli.stores.machine import steady
from lousho_cli.stores.postgres.claims import give_back, lost_among
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import PostgresClaim
from lousho_cli.stores.postgres.presence import Presence


class Keeper(LeaseKeeper[PostgresClaim, Hand]):
    """The claims of one store object. Whoever takes a log holds the row of the lease while it does."""

    def __init__(self, database: Database, presence: Presence, channel: str) -> None:
        super().__init__()
        self._database, self._presence, self._channel = database, presence, channel

    def forget(self, dropped: PostgresClaim) -> None:
        """Frees a log whose claim was dropped without being given back. This may run within whatever the collector interrupted."""
        self.free_later(partial(give_back, held=dropped.held, channel=self._channel))

    def freed(self, frees: Sequence[Callable[[Hand], object]]) -> None:
        # Where the tables went nothing is held any more; they are not made anew for it.
        self._database.look(lambda hand: _all(hand, frees), None, patience_s=1.0, limit_s=5.0)

    def renewed(self, claims: Sequence[PostgresClaim]) -> set[PostgresClaim]:
        limit_s = max(min((claim.renew_s for claim in claims), default=1.0), 0.5)
        try:
            return self._database.now(lambda hand: self._lost_among(hand, claims), writes=False, patience_s=1.0, limit_s=limit_s)
        except LogVersionError as error:
            for claim in claims:
                claim.fail(error)  # it would write what the tables are no longer made for
            raise

    def _lost_among(self, hand: Hand, claims: Sequence[PostgresClaim]) -> set[PostgresClaim]:
        """One statement; a second only where a lease may have run out before the first arrived."""
        self._presence.enter(hand)
        arrived = steady()
        late = [claim for claim in claims if claim.late_at(arrived)]
        return lost_among(hand, late) if late else set()


def _all(hand: Hand, frees: Sequence[Callable[[Hand], object]]) -> None:
    for free in frees:
        free(hand)
