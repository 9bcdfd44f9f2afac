"""Renews every claim of this process from one daemon thread, as often as it was taken with.

Renewing is one ``utime`` without a time, so the lease carries the clock of the disk. A claim that
comes late (the process was stopped, the disk was away) is renewed only while no other owner has
appeared: whoever takes a log over looks at the lease once more after it put its own file there.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from weakref import WeakKeyDictionary

from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.owner_files import epochs_in
from lousho_cli.stores.machine import steady
from lousho_cli.stores.threads import started


class Keeper:
    """The claims of this process."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        # Weak: a claim that nobody can give back any more must not be renewed for ever.
        self._claims: WeakKeyDictionary[FileClaim, float] = WeakKeyDictionary()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._rests_until = 0.0

    def __len__(self) -> int:
        return len(self._claims)

    def begin(self) -> None:
        """Starts the thread, without which nothing may be claimed.

        Raises:
            StorageError: there can be none now.
        """
        with self._changed:
            if self._thread is None:
                self._thread = started(self._run, "lousho-renew")

    def add(self, claim: FileClaim) -> None:
        """Keeps a claim. Raises like ``begin``."""
        self.begin()
        with self._changed:
            self._claims[claim] = due = steady() + claim.renew_s
            if due < self._rests_until:
                self._changed.notify()

    def remove(self, claim: FileClaim) -> None:
        with self._changed:
            self._claims.pop(claim, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = steady()
                # Under the lock, so that ``remove`` returns only when nobody touches the descriptor any more.
                self._renew_due(now)
                self._rests_until = min(self._claims.values(), default=now + 3600)
                self._changed.wait(max(self._rests_until - steady(), 0.001))

    def _renew_due(self, now: float) -> None:
        # What is due soon is done too, so that claims taken one after another come to share one beat.
        for claim in [claim for claim, due in self._claims.items() if due - claim.renew_s / 2 <= now]:
            if renew(claim):
                self._claims[claim] = now + claim.renew_s
            else:
                self._claims.pop(claim)

    def leave_in_child(self) -> None:
        """In a forked child: lets go of what belongs to the parent, so that its locks die with it."""
        for claim in list(self._claims):
            claim.close()
            claim.lost, claim.syncing, claim.sync_turn = True, None, threading.Lock()
        self._begin()  # neither the lock's state nor the thread is worth anything here


def renew(claim: FileClaim) -> bool:
    """Renews one claim; False when it is lost. One that fails otherwise is tried again until its deadline shows."""
    late = claim.overdue
    begun = steady()
    try:
        os.utime(claim.owner_file)
        if late and epochs_in(claim.folder)[-1:] != [claim.epoch]:
            claim.lost = True
        if claim.holds():
            claim.extend(begun)
    except OSError:
        return not claim.lost
    return not claim.lost


@cache
def keeper() -> Keeper:
    """The one keeper of this process."""
    made = Keeper()
    os.register_at_fork(after_in_child=made.leave_in_child)
    return made
