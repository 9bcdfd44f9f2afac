"""How bytes become durable, and on which thread.

A sync on the event loop is the fastest there is for one session on a fast disk: no thread to
wake. With several sessions, or a slow disk, it would hold the others up, so it goes to a small
pool; the file system joins syncs that run at once.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

INLINE_BELOW_S = 0.001
POOL_THREADS = 4

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


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="lousho-sync")


os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child has the pool's object and none of its threads


def on_pool(work: Callable[[], None]) -> Future[None]:
    """Runs ``work`` on the pool."""
    return _pool().submit(work)
