"""One look into the inboxes of a store for all who wait for a post there, as often as is promised to each.

With a timer and a look for every session, sixty-four of them cost as much as a third of their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from lousho_cli.ports.log_store import LOOK_EVERY_MS
from lousho_cli.stores import bell

if TYPE_CHECKING:
    import asyncio

Look = Callable[[Collection[str]], Iterable[str]]
"""Gives those among some logs for which something was left, and perhaps others; never raises."""


class Lookout:
    """Who waits for posts in one store object. ``look`` is its look into all inboxes."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._watches: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watch] = WeakKeyDictionary()

    async def wait(self, log_id: str, timeout_ms: int) -> None:
        """Waits until something was left for a log, or the time is up."""
        import asyncio

        loop = asyncio.get_running_loop()
        watch = self._watches.get(loop)
        if watch is None:
            watch = self._watches[loop] = _Watch(loop, self._look)
        await watch.wait(log_id, timeout_ms / 1000)


class _Watch:
    """Those who wait on one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, look: Look) -> None:
        self._loop, self._look = loop, look
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, log_id: str, seconds: float) -> None:
        bell.listen(self._loop, self._now)
        waiting = self._waiting.setdefault(log_id, [])
        future: asyncio.Future[None] = self._loop.create_future()
        waiting.append(future)
        ends = self._loop.call_later(seconds, _finish, future)
        if self._timer is None:
            self._begin()
        try:
            await future
        finally:
            ends.cancel()
            waiting.remove(future)
            if not waiting and self._waiting.get(log_id) is waiting:
                del self._waiting[log_id]

    def _begin(self) -> None:
        self._timer = self._loop.call_later(LOOK_EVERY_MS / 1000, self._again)

    def _again(self) -> None:
        """The look that is due; the next is due while somebody waits."""
        self._timer = None
        if self._waiting:
            self._begin()
            self._now()

    def _now(self) -> None:
        if not self._waiting:
            return
        for log_id in self._look(self._waiting):
            for future in self._waiting.get(log_id, ()):
                _finish(future)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
