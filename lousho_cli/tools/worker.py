"""The kept threads on which synchronous tools run: one for each session that runs some, so that none waits for another's.

Starting a thread, or asking ``asyncio.to_thread``, costs more than many a tool itself. So threads
are kept and fed through a queue. For a call that is expected to be over at once the loop waits half
a millisecond for it before it turns to anything else, which saves a wake-up of the loop (the brief lane).

A call whose awaiting task is cancelled can not be stopped: it is left to end on its thread, which
then ends too, and the calls behind it go on on a new one.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from _thread import LockType, allocate_lock
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import Any

from lousho_cli.domain.no_thread import no_thread
from lousho_cli.errors import SDKError

BRIEF_SECONDS = 0.0005
"""How long the loop may wait for a call that is expected to be over at once."""


class _Job:
    """One call, and where its outcome goes. ``done`` is held until there is one."""

    __slots__ = ("context", "done", "error", "loop", "result", "run", "started", "waiter")

    def __init__(self, run: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.started = False
        self.loop = loop
        self.context = contextvars.copy_context()
        self.done: LockType = allocate_lock()
        self.done.acquire()
        self.waiter: asyncio.Future[None] | None = None
        self.result: Any = None
        self.error: BaseException | None = None

    def perform(self) -> None:
        self.started = True
        try:
            self.result = self.context.run(self.run)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the call is awaited
            self.error = error
        # The order matters: an outcome first, then the lock, then who waits. ``Worker.run`` looks in the other order.
        self.done.release()
        waiter = self.waiter
        if waiter is not None:
            try:
                self.loop.call_soon_threadsafe(_wake, waiter)
            except RuntimeError:
                return  # the loop was closed meanwhile: nobody is left to be told

    def outcome(self) -> Any:
        if self.error is None:
            return self.result
        try:
            raise self.error
        finally:
            self.error = None  # else the error, its traceback and this job hold each other


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Worker:
    """A thread that runs calls one after the other, in the order they came."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._thread: Thread | None = None
        self.waiting = 0
        """How many calls it has."""
        self.sessions = 0
        """How many sessions have calls on it."""

    async def run(self, function: Callable[[], Any], brief: bool = False) -> Any:
        """Runs ``function`` on the thread and gives what it returns or raises.

        Args:
            brief: it is expected to be over at once; the loop may wait ``BRIEF_SECONDS`` for it.
        """
        if self._thread is None:
            self.start()
        job = _Job(function, asyncio.get_running_loop())
        alone = self.waiting == 0
        self.waiting += 1
        try:
            self._jobs.put(job)
            if brief and alone and job.done.acquire(timeout=BRIEF_SECONDS):
                return job.outcome()
            job.waiter = job.loop.create_future()
            if job.done.acquire(blocking=False):
                return job.outcome()
            try:
                await job.waiter
            except asyncio.CancelledError:
                job.run = _nothing  # so that it does not start any more
                if job.started:  # too late: leave it its thread, and the calls behind it another
                    with suppress(SDKError):  # where there can be none, they wait for this one
                        self.start()
                raise
            return job.outcome()
        finally:
            self.waiting -= 1

    def start(self) -> None:
        """Begins a new thread; the one there was ends behind the call it is at.

        Raises:
            SDKError: there can be none now; the one there was goes on.
        """
        before, self._thread = self._thread, Thread(target=self._work, name="lousho-tools", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._thread = before
            raise no_thread(SDKError, error) from error

    def _work(self) -> None:
        me = current_thread()
        while self._thread is me:
            self._jobs.get().perform()


def _nothing() -> None:
    return None


MOST_WORKERS = 32
"""Sessions whose calls run at the same time; those of further ones share a worker with another, as where no thread is to be had."""


class Workers:
    """A worker for each session that has calls, and those that have none for the next that does."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew; in a forked child, which has no thread but the one that forked."""
        self._lock = allocate_lock()
        self._busy: dict[str, Worker] = {}
        self._users: dict[str, int] = {}
        self._idle: list[Worker] = []
        self._made = 0

    async def run(self, function: Callable[[], Any], brief: bool = False, session: str = "") -> Any:
        """``Worker.run``, behind the calls of the same session alone."""
        worker = self._taken(session)
        try:
            return await worker.run(function, brief)
        finally:
            self._left(session, worker)

    def _taken(self, session: str) -> Worker:
        with self._lock:
            worker = self._busy.get(session)
            if worker is None:
                worker = self._busy[session] = self._another()
                worker.sessions += 1
            self._users[session] = self._users.get(session, 0) + 1
            return worker

    def _another(self) -> Worker:
        if self._idle:
            return self._idle.pop()
        if self._made < MOST_WORKERS:
            worker = Worker()
            try:
                worker.start()
            except SDKError:
                if not self._busy:
                    raise
            else:
                self._made += 1
                return worker
        return min(self._busy.values(), key=lambda worker: worker.waiting)

    def _left(self, session: str, worker: Worker) -> None:
        with self._lock:
            if self._busy.get(session) is not worker:
                return  # it was taken before this process was forked
            left = self._users.pop(session) - 1
            if left:
                self._users[session] = left
                return
            del self._busy[session]
            worker.sessions -= 1
            if not worker.sessions:
                self._idle.append(worker)


_workers = Workers()


def workers() -> Workers:
    """Those of this process."""
    return _workers


os.register_at_fork(after_in_child=_workers.forget)
