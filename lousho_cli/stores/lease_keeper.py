"""Renews the lease of one store object from one daemon thread: a single row for all its logs, as often as one of them asks for.

A renewal that comes late (the process was stopped, the disk or the server was away) is good for every log that nobody took
meanwhile. Whoever takes one looks at the lease and writes its own name so that the two can not cross; each database says how.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar
from weakref import WeakSet

from lousho_cli.errors import SDKError
from lousho_cli.stores.machine import steady
from lousho_cli.stores.row_claim import RowClaim
from lousho_cli.stores.threads import started

_AGAIN_S = 0.05

C = TypeVar("C", bound=RowClaim)
H = TypeVar("H")


class LeaseKeeper(ABC, Generic[C, H]):
    """The claims of one store object. ``H`` is what its database gives to whoever may write."""

    def __init__(self) -> None:
        # Weak: a claim that nobody can give back any more must not be renewed for ever.
        self._claims: WeakSet[C] = WeakSet()
        self._to_free: list[Callable[[H], object]] = []
        # Reentrant: the collector may end a store, and so this keeper, on the very thread that holds the lock.
        self._lock = threading.RLock()
        # What wakes the thread. It may be put into wherever the collector has interrupted somebody, and whoever holds the lock.
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._due = 0.0
        self._stopped = False

    @abstractmethod
    def renewed(self, claims: Sequence[C]) -> set[C]:
        """Renews the lease; gives those of the claims whose logs others took.

        Raises:
            SDKError: that could not be done now.
        """

    @abstractmethod
    def freed(self, frees: Sequence[Callable[[H], object]]) -> None:
        """Carries out what gives logs back. Raises like ``renewed``."""

    def begin(self) -> None:
        """Starts the thread, without which nothing may be claimed.

        Raises:
            StorageError: there can be none now.
        """
        with self._lock:
            if self._thread is None and not self._stopped:
                self._thread = started(self._run, "lousho-renew")

    def add(self, claim: C) -> None:
        """Keeps a claim that was just taken, which renewed the lease. Raises like ``begin``."""
        self.begin()
        with self._lock:
            self._claims.add(claim)
            due = steady() + claim.renew_s
            if len(self._claims) > 1 and due >= self._due:
                return  # its lease is renewed before that, with those of the others
            self._due = due
        self._woken.put(None)

    def remove(self, claim: C) -> None:
        with self._lock:
            self._claims.discard(claim)

    def held(self) -> list[C]:
        """The claims that are kept now. It waits for no lock, as ``free_later`` does not."""
        while True:
            try:
                return list(self._claims)
            except RuntimeError:
                continue  # another thread added one meanwhile

    def free_later(self, free: Callable[[H], object]) -> None:
        """Has a log given back by ``free`` as soon as that can be done: else its lease would be renewed with those of the others.

        This may run within whatever the collector interrupted, so it waits for nothing.
        """
        if not self._stopped:
            self._to_free.append(free)
            self._woken.put(None)

    def free_here(self, hand: H) -> None:
        """Gives back what waits for it, with what its caller has: one of them may be the very log that is to be taken."""
        for free in list(self._to_free):
            free(hand)
            self._was_freed(free)

    def _run(self) -> None:
        while True:
            if not self._to_free:
                with self._lock:
                    rest_s = max(self._due - steady(), 0.0) if self._claims else None
                self._rest(rest_s)
            if self._stopped:
                return
            if self._to_free and not self._free():
                self._rest(_AGAIN_S)
            if self._claims and steady() >= self._due:
                pause_s = self.renew()
                with self._lock:  # one that is renewed more often may have been added meanwhile
                    self._due = steady() + min([pause_s, *(claim.renew_s for claim in self.held())])

    def _rest(self, seconds: float | None) -> None:
        """Waits until there may be something to do; None for however long that takes."""
        with suppress(Empty):
            self._woken.get(timeout=seconds)
            while True:
                self._woken.get_nowait()

    def _free(self) -> bool:
        some = list(self._to_free)
        try:
            self.freed(some)
        except SDKError:
            return False
        for free in some:
            self._was_freed(free)
        return True

    def _was_freed(self, free: Callable[[H], object]) -> None:
        with suppress(ValueError):  # another thread did it as well
            self._to_free.remove(free)

    def renew(self) -> float:
        """Renews the lease; gives the seconds until it should be renewed again."""
        claims = self.held()
        begun = steady()
        try:
            lost = self.renewed(claims)
        except SDKError:
            return _AGAIN_S  # it is tried again until the deadlines show
        for claim in claims:
            if claim in lost:
                claim.lost = True
                self.remove(claim)
            else:
                claim.extend(begun)
        return min((claim.renew_s for claim in claims), default=3600.0)

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped = True
        self._woken.put(None)

    def leave_in_child(self) -> None:
        """In a forked child: every claim is the parent's."""
        self._stopped = True
        for claim in self.held():
            claim.lost = claim.released = True
