"""Telling those who wait what one thread did for many of them: each event loop is woken once."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio


class Done(Protocol):
    """What was asked for and is done: with an error, or what came of it. ``future`` is who waits, None for nobody."""

    future: asyncio.Future[Any] | None
    error: BaseException | None

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


def finish(jobs: Sequence[Done]) -> None:
    """Tells each of those who wait, on the thread of their event loop."""
    for job in jobs:
        if job.future is None or job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
