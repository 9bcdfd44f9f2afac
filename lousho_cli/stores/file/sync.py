"""How bytes become durable, and on which thread.

A sync on the event loop is the fastest there is for one session on a fast disk: no thread to
wake. With several sessions, or a slow disk, it would hold the others up, so it goes to a few
threads that take what waits from one queue; the file system joins syncs that run at once.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
import time
from _queue import SimpleQueue
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from lousho_cli.errors import StorageError
from lousho_cli.stores.delivering import Deliveries
from lousho_cli.stores.threads import started

if TYPE_CHECKING:
    import asyncio

INLINE_BELOW_S = 0.001
THREADS = 8

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None) if sys.platform == "darwin" else None


class _Average:
    """The moving average of how long a sync takes here, in seconds."""

    value = 0.0

    def add(self, seconds: float) -> None:
        self.value += (seconds - self.value) * 0.1


average = _Average()


def sync_data(file: int) -> None:
    """Makes the data and the length of an open file durable."""
    begun = time.perf_counter()
    if _FULL_SYNC is not None:
        fcntl.fcntl(file, _FULL_SYNC)
    else:
        os.fdatasync(file)
    average.add(time.perf_counter() - begun)


def sync_whole(file: int) -> None:
    """Makes an open file durable with all that is known of it."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(file, _FULL_SYNC)
    else:
        os.fsync(file)


def is_quick(claims: int) -> bool:
    """Whether to sync right here: one session is driven, and syncs are fast."""
    return claims <= 1 and average.value < INLINE_BELOW_S


class Sync:
    """One sync on its way through the threads. ``over``: nothing of it happens any more."""

    __slots__ = ("_told", "_work", "error", "future", "over")
    result = None

    def __init__(self, work: Callable[[], None], told: Deliveries) -> None:
        self._work: Callable[[], None] | None = work
        self._told = told
        self.future: asyncio.Future[None] = told.loop.create_future()
        self.error: BaseException | None = None
        self.over = False

    def carry_out(self) -> None:
        work, self._work = self._work, None  # whoever keeps this keeps nothing else alive by it
        try:
            if work is not None:
                work()
        except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
            self.error = error
        self.over = True
        self._told.add(self)


class Syncs:
    """The threads of this process that sync. Each takes what waits, one after the other, until nothing does."""

    def __init__(self) -> None:
        self._waiting: deque[Sync] = deque()
        self._signal: SimpleQueue[None] = SimpleQueue()
        self._threads = 0
        self._waking: asyncio.AbstractEventLoop | None = None
        self._told: Deliveries | None = None
        self._ended = threading.Condition()
        self._watched = 0

    def begin(self, work: Callable[[], None], loop: asyncio.AbstractEventLoop) -> Sync:
        """Has ``work`` done by one of the threads; its future, which is of ``loop``, tells what came of it."""
        if self._threads < THREADS:
            self._start()
        if self._told is None or self._told.loop is not loop:
            self._told = Deliveries(loop)
        begun = Sync(work, self._told)
        if not self._threads:
            begun.carry_out()
            return begun
        self._waiting.append(begun)
        if self._waking is not loop:
            loop.call_soon(self._wake)  # behind whatever else is ready now: that may ask for something too
            self._waking = loop
        return begun

    def _start(self) -> None:
        with suppress(StorageError):  # those there are have to do, or the event loop itself, and the next sync tries again
            started(self._serve, f"lousho-sync-{self._threads}")
            self._threads += 1

    def _wake(self) -> None:
        """Wakes as many threads as there is work for. One that is awake hears it when it has nothing else to take."""
        self._waking = None
        for _ in range(min(len(self._waiting), THREADS) - self._signal.qsize()):
            self._signal.put(None)

    def _serve(self) -> None:
        waiting = self._waiting
        while True:
            self._signal.get()
            while waiting:
                try:
                    sync = waiting.popleft()
                except IndexError:
                    break  # another thread took the last one
                sync.carry_out()
                del sync  # its error knows who waits, and this thread may wait for the next one for long
                if self._watched:
                    with self._ended:
                        self._ended.notify_all()

    def wait(self, sync: Sync) -> None:
        """Holds this thread up until a sync is over."""
        self._wake()  # the event loop that was to do it may have ended
        with self._ended:
            self._watched += 1
            try:
                self._ended.wait_for(lambda: sync.over)
            finally:
                self._watched -= 1


@cache
def syncs() -> Syncs:
    """The one of this process."""
    return Syncs()


os.register_at_fork(after_in_child=syncs.cache_clear)  # a forked child has the object and none of its threads
