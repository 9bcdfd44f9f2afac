"""Renews the lease of one store object from one daemon thread: a single row for all its logs, as often as one of them asks for.

A renewal that comes late (the process was stopped, the server was away) is good for every log that nobody took meanwhile. Whoever
takes one holds the row of the lease while it does, so the two can not cross.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from weakref import WeakSet

from lousho_cli.errors import SDKError
from lousho_cli.stores.machine import steady
from lousho_cli.stores.postgres.claims import give_back, lost_among
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import PostgresClaim
from lousho_cli.stores.postgres.presence import Presence

_AGAIN_S = 0.1

Free = Callable[[Hand], None]
"""Gives one log back."""


class Keeper:
    """The claims of one store object."""

    def __init__(self, database: Database, presence: Presence, channel: str) -> None:
        self._database, self._presence, self._channel = database, presence, channel
        # Weak: a claim that nobody can give back any more must not be renewed for ever.
        self._claims: WeakSet[PostgresClaim] = WeakSet()
        self._to_free: list[Free] = []
        self._changed = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self._due = 0.0
        self._stopped = False
        self._stop = threading.Event()

    def add(self, claim: PostgresClaim) -> None:
        """Keeps a claim that was just taken, which renewed the lease."""
        with self._changed:
            self._claims.add(claim)
            due = steady() + claim.renew_s
            self._due = min(self._due, due) if len(self._claims) > 1 else due
            self._start()
            self._changed.notify()

    def remove(self, claim: PostgresClaim) -> None:
        with self._changed:
            self._claims.discard(claim)

    def forget(self, dropped: PostgresClaim) -> None:
        """Frees a log whose claim was dropped without being given back. This may run within whatever the collector interrupted."""
        self.free_later(partial(give_back, held=dropped.held, channel=self._channel))

    def free_later(self, free: Free) -> None:
        """Has a log given back by ``free`` as soon as the server takes it: else its lease would be renewed with those of the others."""
        if self._stopped:
            return
        self._to_free.append(free)
        if self._changed.acquire(blocking=False):
            self._start()
            self._changed.notify()
            self._changed.release()

    def _start(self) -> None:
        if self._thread is None and not self._stopped:
            self._thread = threading.Thread(target=self._run, name="lousho-renew", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                now = steady()
                idle = not self._claims and not self._to_free
                if not self._stopped and not self._to_free and (idle or now < self._due):
                    self._changed.wait(None if idle else self._due - now)
                if self._stopped:
                    return
            if self._to_free and not self._freed():
                self._stop.wait(_AGAIN_S)
            if self._claims and steady() >= self._due:
                self._due = steady() + self.renew()

    def _freed(self) -> bool:
        some = list(self._to_free)
        try:
            self._database.now(lambda hand: [free(hand) for free in some], patience_s=1.0, limit_s=5.0)
        except SDKError:
            return False
        del self._to_free[: len(some)]
        return True

    def renew(self) -> float:
        """Renews the lease; gives the seconds until it should be renewed again."""
        with self._changed:
            claims = list(self._claims)
        begun = steady()
        try:
            limit_s = max(min((claim.renew_s for claim in claims), default=1.0), 0.5)
            lost = self._database.now(lambda hand: self._renewed(hand, claims), patience_s=1.0, limit_s=limit_s)
        except SDKError:
            return _AGAIN_S  # it is tried again until the deadlines show
        for claim in claims:
            if claim in lost:
                claim.lost = True
                self.remove(claim)
            else:
                claim.extend(begun)
        return min((claim.renew_s for claim in claims), default=3600.0)

    def _renewed(self, hand: Hand, claims: list[PostgresClaim]) -> set[PostgresClaim]:
        """One statement; a second only where a lease may have run out before the first arrived."""
        self._presence.enter(hand)
        arrived = steady()
        late = [claim for claim in claims if claim.late_at(arrived)]
        return lost_among(hand, late) if late else set()

    def stop(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._stopped = True
            self._stop.set()
            self._changed.notify()

    def leave_in_child(self) -> None:
        """In a forked child: every claim is the parent's."""
        self._stopped = True
        for claim in list(self._claims):
            claim.lost = claim.released = True
