"""Keeps the claims of one store object on a file: its lease is renewed, and logs are freed, by the one writer."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial

from lousho_cli.errors import SDKError
from lousho_cli.stores.lease_keeper import LeaseKeeper
from lousho_cli.stores.row_claim import Held
from lousho_cli.stores.sqlite.claims import give_back, is_owner
from lousho_cli.stores.sqlite.job import Job
from lousho_cli.stores.sqlite.presence import Presence
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim
from lousho_cli.stores.sqlite.writer import Writer


class Keeper(LeaseKeeper[SqliteClaim, sqlite3.Connection]):
    """The claims of one store object. A log is taken in one transaction with a look at the lease."""

    def __init__(self, writer: Writer, presence: Presence) -> None:
        super().__init__()
        self._writer, self._presence = writer, presence
        writer.sync_failed, writer.is_alone = self.fail_all, self.has_few

    def has_few(self) -> bool:
        """Whether there is no more than one claim."""
        return len(self._claims) <= 1

    def forget(self, dropped: SqliteClaim) -> None:
        """Frees a log whose claim was dropped without being given back; at once if nothing is being written."""
        held = dropped.held
        if self._stopped or any(claim.held == held and claim is not dropped for claim in self.held()):
            return  # one that was taken twice, as its first transaction failed, is held by the second
        free = partial(give_back, held=held)
        with contextlib.suppress(SDKError, sqlite3.Error):
            if self._writer.try_now(Job(free)):
                return
        self.free_unless_taken(held, free)

    def free_unless_taken(self, held: Held, free: Callable[[sqlite3.Connection], object]) -> None:
        """``free_later``, unless somebody took the very same by then: what a transaction that failed gave is given again, by number too."""
        self.free_later(lambda connection: None if any(claim.held == held for claim in self.held()) else free(connection))

    def fail_all(self, error: SDKError) -> None:
        """Tells every claim that what was written in its name may not be on the disk."""
        for claim in self.held():
            claim.fail(error)

    def freed(self, frees: Sequence[Callable[[sqlite3.Connection], object]]) -> None:
        self._writer.run_now(Job(lambda connection: [free(connection) for free in frees]))

    def renewed(self, claims: Sequence[SqliteClaim]) -> set[SqliteClaim]:
        late = [claim for claim in claims if claim.overdue]
        return self._writer.run_now(Job(lambda connection: self._lost_among(connection, late)))

    def _lost_among(self, connection: sqlite3.Connection, late: Sequence[SqliteClaim]) -> set[SqliteClaim]:
        self._presence.enter(connection)
        return {claim for claim in late if not is_owner(connection, claim.held)}
