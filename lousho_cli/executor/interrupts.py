"""An await that can be given up from outside without a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from lousho_cli.executor.abort import AbortSignal

T = TypeVar("T")

ESCAPES = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What a caller's function may raise that would end the whole process, where only that function went wrong."""

INTERRUPTED: Literal["interrupted"] = "interrupted"


def is_cancelled() -> bool:
    """Whether somebody cancelled this task, and not only something that what it awaits awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Interruptible(Generic[T]):
    """Runs one awaitable in the caller's task; ``interrupt`` makes ``run`` return ``INTERRUPTED``.

    A task for each model call and tool would cost as much as the step itself. The driver's task
    is never cancelled by anybody else: ``AgentExecutor`` shields it. Where ``run`` would be one layer
    of awaits too many, ``begin`` and ``end`` are put around what it would run.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self.interrupted = False

    async def run(self, awaitable: Awaitable[T]) -> T | Literal["interrupted"]:
        self.begin()
        try:
            return await awaitable
        except asyncio.CancelledError:
            if not self.interrupted:
                raise
            return INTERRUPTED
        finally:
            if self.end():
                await self.forget()

    def begin(self) -> None:
        """From here on the caller's task may be interrupted: then ``interrupted`` is set, and it gets a CancelledError."""
        self._task, self.interrupted = asyncio.current_task(), False

    def end(self) -> bool:
        """From here on it may not. Whether it was: then it is to ``forget`` that before it awaits anything else."""
        if not self.interrupted:
            self._task = None
        return self.interrupted

    async def forget(self) -> None:
        """Where nothing was awaited since the interruption, it is still to come; it must not hit what is awaited next."""
        task, self._task = self._task, None
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        if task is not None:
            task.uncancel()

    def interrupt(self) -> None:
        """Gives up what runs now, if anything does."""
        if self._task is not None and not self.interrupted:
            self.interrupted = True
            self._task.cancel()


async def unless_aborted(signal: AbortSignal, awaitable: Awaitable[T]) -> T | Literal["interrupted"]:
    """Awaits a caller's code for as long as ``signal`` has not fired; ``INTERRUPTED`` when it did. What never waits is done in any case."""
    loop, waiting = asyncio.get_running_loop(), Interruptible[T]()

    def give_up() -> None:
        loop.call_soon(waiting.interrupt)  # not at once: it may have fired before anything is awaited

    forget = signal.on_abort(give_up)
    try:
        return await waiting.run(awaitable)
    finally:
        forget()
