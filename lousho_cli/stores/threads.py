"""Threads of the stores, and what happens where the system gives none: a limit of processes is reached, or memory is short."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from lousho_cli.domain.no_thread import no_thread
from lousho_cli.errors import StorageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")


def started(target: Callable[[], None], name: str) -> threading.Thread:
    """A daemon thread that runs ``target``.

    Raises:
        StorageError: there can be none now; nothing has begun.
    """
    thread = threading.Thread(target=target, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise no_thread(StorageError, error) from error
    return thread


async def on_thread(executor: Executor | None, work: Callable[[], T]) -> T:
    """Carries ``work`` out on a thread of an executor, None for the event loop's; where there can be none, on this one."""
    import asyncio

    once = _Once(work)
    try:
        running = asyncio.get_running_loop().run_in_executor(executor, copy_context().run, once)
    except RuntimeError:  # it is queued all the same: a thread that comes free may still take it
        return once()
    try:
        return await running
    finally:
        once.error = None  # else it, its traceback and the work hold each other


class _Once(Generic[T]):
    """Work that is carried out once, whoever comes to it first. Who comes second waits for it, and gets what came of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._turn = threading.Lock()
        self._came: list[T] = []
        self.error: BaseException | None = None

    def __call__(self) -> T:
        with self._turn:
            work, self._work = self._work, None
            if work is not None:
                try:
                    self._came.append(work())
                except BaseException as error:
                    self.error = error
                    raise
            elif self.error is not None:
                raise self.error
            return self._came[0]
