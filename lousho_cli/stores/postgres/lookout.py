"""Who waits for a post or for a log to grow, in one store object, and the two threads that look for them.

One listens: a post and a wake are told by the server in the same transaction that brings them. The other looks by itself, once for
all who wait: for posts slowly, as one that was told of is known already, or oftener where nobody can listen; for growth soon at
first and less often while nothing comes, as an append is not told to anybody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import ref

from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.postgres import posts
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.driver import Row
from lousho_cli.stores.postgres.listener import Listener
from lousho_cli.stores.threads import started

if TYPE_CHECKING:
    import asyncio

    Future = asyncio.Future[bool]

LISTENING_S, ALONE_S = 3.0, 0.25
"""How often posts are looked for: where they are told of as well, and where they are not."""

_SOON_S, _SELDOM_S = 0.03, 0.5
_MOST_TOLD = 10_000
_AGAIN_S = 1.0
_FORGET_S = 60.0
_ENDS = """SELECT id, head, (SELECT max(n) FROM {s}.posts WHERE posts.no = logs.no) FROM {s}.logs WHERE id = ANY(%s)"""


class Growth:
    """One who waits for a log to go past ``after``, or for a post that is newer than ``seen``."""

    __slots__ = ("after", "future", "newest", "seen")

    def __init__(self, future: Future, after: int, seen: int) -> None:
        self.future, self.after, self.seen = future, after, seen
        self.newest = seen


class Lookout:
    """Those who wait. ``channel``: where the server tells of posts."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._changed = threading.Condition(threading.RLock())
        self._for_post: dict[str, list[Future]] = {}
        self._for_growth: dict[str, list[Growth]] = {}
        self._for_any: list[Future] = []
        self._told: set[str] = set()
        self._looked: dict[str, float] = {}
        self._told_of_any = False
        self._listener = Listener(database, channel, ref(self))
        self._thread: threading.Thread | None = None
        self._watched: dict[str, float] = {}
        self._pace = _SOON_S
        self._post_due = self._growth_due = 0.0
        self._stopped = False

    # Who waits

    async def post(self, log_id: str, timeout_ms: int) -> bool:
        """Waits until something may have been left for a log; False when the time is up and somebody looked meanwhile."""
        import asyncio

        future: Future = asyncio.get_running_loop().create_future()
        with self._changed:
            self._remember(log_id)
            if log_id in self._told:
                _finish((future,))  # it came since the last look
            waiting = self._for_post.setdefault(log_id, [])
            waiting.append(future)
            self._begin()
        try:
            return await _within(future, timeout_ms) or self._thread is None
        finally:
            with self._changed:
                waiting.remove(future)
                if not waiting and self._for_post.get(log_id) is waiting:
                    del self._for_post[log_id]

    async def growth(self, log_id: str, after: int, seen: int, timeout_ms: int) -> int | None:
        """Waits until a log went past ``after`` or has a post newer than ``seen``; gives its newest post, None when the time is up.

        Who comes again and again for one log, as followers do, is not looked for the oftener for it.
        """
        import asyncio

        one = Growth(asyncio.get_running_loop().create_future(), after, seen)
        with self._changed:
            waiting = self._for_growth.setdefault(log_id, [])
            waiting.append(one)
            now = time.monotonic()
            if now - self._watched.get(log_id, 0.0) > _AGAIN_S:
                self._pace = _SOON_S
                self._growth_due = min(self._growth_due, now + _SOON_S)
            self._begin()
        try:
            return one.newest if await _within(one.future, timeout_ms) else None
        finally:
            with self._changed:
                if len(self._watched) > _MOST_TOLD:
                    self._watched.clear()
                self._watched[log_id] = time.monotonic()
                waiting.remove(one)
                if not waiting and self._for_growth.get(log_id) is waiting:
                    del self._for_growth[log_id]

    async def anything(self, timeout_ms: int) -> bool:
        """Waits until a post or a wake of any log is told of, since ``looked_at_all``; False when the time is up."""
        import asyncio

        future: Future = asyncio.get_running_loop().create_future()
        with self._changed:
            if self._told_of_any:
                _finish((future,))
            self._for_any.append(future)
            self._begin()
        try:
            return await _within(future, timeout_ms)
        finally:
            with self._changed:
                self._for_any.remove(future)

    def looked(self, log_id: str) -> None:
        """Whatever was told of a log until now is about to be seen."""
        self._remember(log_id)
        self._told.discard(log_id)

    def _remember(self, log_id: str) -> None:
        """Keeps from now on what is told of a log, until nobody asks for it any more."""
        now = time.monotonic()
        if len(self._looked) > _MOST_TOLD:
            with self._changed:
                self._looked = {one: at for one, at in self._looked.items() if now - at < _FORGET_S or one in self._for_post}
                self._told &= self._looked.keys()
        self._looked[log_id] = now

    def looked_at_all(self) -> None:
        """Whatever was told of any log until now is about to be seen, or left to others."""
        self._told_of_any = False

    # Who tells them

    def tell(self, log_id: str) -> None:
        """Something was left for a log."""
        with self._changed:
            self._told_of_any = True
            if log_id in self._looked:  # the others are some other host's
                self._told.add(log_id)
            _finish((*self._for_post.get(log_id, ()), *self._for_any))
            if log_id in self._for_growth:
                self._growth_due = 0.0
                self._changed.notify()

    def tell_all(self) -> None:
        """Something may have been left for any log: nobody listened for a while."""
        with self._changed:
            self._post_due = 0.0
            self._changed.notify()

    def grown(self, log_id: str, head: int) -> None:
        """A log of this process goes to ``head``."""
        with self._changed:
            for one in self._for_growth.get(log_id, ()):
                if head > one.after:
                    _finish((one.future,))

    # The thread that looks

    def _begin(self) -> None:
        self._listener.begin()
        if self._thread is None and not self._stopped:
            with suppress(StorageError):  # until there can be one, whoever waits does so for all of the time it has
                self._thread = started(self._run, "lousho-look")
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                now = time.monotonic()
                due = [self._post_due] if self._for_post else []
                due += [self._growth_due] if self._for_growth else []
                if not due or min(due) > now:
                    self._changed.wait(min(due) - now if due else None)
                    continue
            if self._for_post and self._post_due <= time.monotonic():
                self._look_for_posts()
            if self._for_growth and self._growth_due <= time.monotonic():
                self._look_for_growth()

    def _look_for_posts(self) -> None:
        self._post_due = time.monotonic() + (LISTENING_S if self._listener.hears else ALONE_S)
        try:
            found: Iterable[str] = self._database.look(posts.posted, frozenset())
        except SDKError:
            found = list(self._for_post)  # each learns it for itself
        with self._changed:
            for log_id in found:
                _finish(self._for_post.get(log_id, ()))

    def _look_for_growth(self) -> None:
        with self._changed:
            ids = list(self._for_growth)
        try:
            nothing: list[Row] = []
            ends = self._database.look(lambda hand: hand.rows(_ENDS, (ids,)), nothing)
        except SDKError:
            ends = [(log_id, 1 << 62, 0) for log_id in ids]
        grew = False
        with self._changed:
            for log_id, head, newest in ends:
                # An end before what is known: it was deleted meanwhile, or its server lost what it had.
                some = [one for one in self._for_growth.get(log_id, ()) if head != one.after or (newest or 0) > one.seen]
                grew = grew or bool(some)
                for one in some:
                    one.newest = max(one.seen, newest or 0)
                _finish(one.future for one in some)
            self._pace = _SOON_S if grew else min(self._pace * 1.5, _SELDOM_S)
            self._growth_due = time.monotonic() + self._pace

    def stop(self) -> None:
        """Ends the threads."""
        self._listener.stop()
        with self._changed:
            self._stopped = True
            self._changed.notify()


async def _within(future: Future, timeout_ms: int) -> bool:
    import asyncio

    done, _ = await asyncio.wait((future,), timeout=timeout_ms / 1000)
    return bool(done)


def _finish(futures: Iterable[Future]) -> None:
    for future in tuple(futures):
        with suppress(RuntimeError):  # its loop is closed: nobody waits
            future.get_loop().call_soon_threadsafe(_done, future)


def _done(future: Future) -> None:
    if not future.done():
        future.set_result(True)
