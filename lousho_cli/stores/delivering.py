"""Telling those who wait what one thread did for many of them: each event loop is woken once."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio


class Done(Protocol):
    """What was asked for and is done: with an error, or what came of it. ``future`` is who waits, None for nobody."""

    @property
    def future(self) -> asyncio.Future[Any] | None: ...

    @property
    def error(self) -> BaseException | None: ...

    @property
    def result(self) -> Any: ...


def deliver(jobs: Sequence[Done]) -> None:
    """Tells each of those who wait, from any thread."""
    loops: dict[asyncio.AbstractEventLoop, list[Done]] = {}
    for job in jobs:
        if job.future is not None:
            loops.setdefault(job.future.get_loop(), []).append(job)
    for loop, theirs in loops.items():
        with contextlib.suppress(RuntimeError):  # it was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(finish, theirs)


class Deliveries:
    """Tells one event loop, from any thread, of what ends one by one: once for all that ended before it came to listen."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ended: deque[Done] = deque()
        self._told = False

    def add(self, job: Done) -> None:
        self._ended.append(job)
        if not self._told:
            self._told = True
            with contextlib.suppress(RuntimeError):  # it was closed meanwhile: nobody waits
                self.loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        self._told = False  # what comes from here on tells it again
        finish(self._taken())

    def _taken(self) -> Iterable[Done]:
        while self._ended:
            yield self._ended.popleft()


def finish(jobs: Iterable[Done]) -> None:
    """Tells each of those who wait, on the thread of their event loop."""
    for job in jobs:
        if job.future is None or job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
