"""Renews the lease of one store object from one daemon thread: a single row for all its logs, as often as one of them asks for.

A renewal that comes late (the process was stopped, the disk was away) is good for every log that nobody took meanwhile.
Whoever takes one looks at the lease and writes its own name in the same transaction, so the two can not cross.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from weakref import WeakSet

from lousho_cli.errors import SDKError
from lousho_cli.stores.machine import steady
from lousho_cli.stores.sqlite.claims import give_back, is_owner
from lousho_cli.stores.sqlite.presence import Presence
from lousho_cli.stores.sqlite.sqlite_claim import Held, SqliteClaim
from lousho_cli.stores.sqlite.writer import Job, Writer

_AGAIN_S = 0.05


class Keeper:
    """The claims of one store object."""

    def __init__(self, writer: Writer, presence: Presence) -> None:
        self._writer, self._presence = writer, presence
        writer.sync_failed = self.fail_all
        # Weak: a claim that nobody can give back any more must not be renewed for ever.
        self._claims: WeakSet[SqliteClaim] = WeakSet()
        self._forgotten: list[Held] = []
        self._changed = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._due = 0.0
        self._stopped = False

    @property
    def few(self) -> bool:
        """Whether there is no more than one claim."""
        return len(self._claims) <= 1

    def add(self, claim: SqliteClaim) -> None:
        """Keeps a claim that was just taken, which renewed the lease."""
        with self._changed:
            self._claims.add(claim)
            due = steady() + claim.renew_s
            self._due = min(self._due, due) if len(self._claims) > 1 else due
            self._start()
            self._changed.notify()

    def remove(self, claim: SqliteClaim) -> None:
        self._claims.discard(claim)

    def forget(self, dropped: SqliteClaim) -> None:
        """Frees a log whose claim was dropped without being given back; at once if nothing is being written."""
        held = dropped.held
        if self._stopped or any(claim.held == held and claim is not dropped for claim in self._claims):
            return  # one that was taken twice, as its first transaction failed, is held by the second
        with contextlib.suppress(SDKError, sqlite3.Error):
            if self._writer.try_now(Job(lambda connection: give_back(connection, held))):
                return
        self._forgotten.append(held)
        if self._changed.acquire(blocking=False):  # this may run within whatever the garbage collector interrupted
            self._start()
            self._changed.notify()
            self._changed.release()

    def fail_all(self, error: SDKError) -> None:
        """Tells every claim that what was written in its name may not be on the disk."""
        for claim in list(self._claims):
            claim.fail(error)

    def _start(self) -> None:
        if self._thread is None and not self._stopped:
            self._thread = threading.Thread(target=self._run, name="lousho-renew", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                now = steady()
                idle = not self._claims and not self._forgotten
                if not self._stopped and not self._forgotten and (idle or now < self._due):
                    self._changed.wait(None if idle else self._due - now)
                if self._stopped:
                    return
            self._free_forgotten()
            if self._claims and steady() >= self._due:
                self._due = steady() + self.renew()

    def _free_forgotten(self) -> None:
        while self._forgotten:
            held = self._forgotten.pop()
            with contextlib.suppress(SDKError):
                self._writer.run_now(Job(lambda connection, held=held: give_back(connection, held)))  # type: ignore[misc]

    def renew(self) -> float:
        """Renews the lease; gives the seconds until it should be renewed again."""
        claims = list(self._claims)
        late = [claim for claim in claims if claim.overdue]
        begun = steady()
        try:
            lost = self._writer.run_now(Job(lambda connection: self._renewed(connection, late)))
        except SDKError:
            return _AGAIN_S  # it is tried again until the deadlines show
        for claim in claims:
            if claim in lost:
                claim.lost = True
                self._claims.discard(claim)
            else:
                claim.extend(begun)
        return min((claim.renew_s for claim in claims), default=3600.0)

    def _renewed(self, connection: sqlite3.Connection, late: list[SqliteClaim]) -> set[SqliteClaim]:
        self._presence.enter(connection)
        return {claim for claim in late if not is_owner(connection, claim.held)}

    def stop(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def leave_in_child(self) -> None:
        """In a forked child: every claim is the parent's."""
        self._stopped = True
        for claim in list(self._claims):
            claim.lost = claim.released = True
