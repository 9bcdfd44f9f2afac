"""Everything that is written goes through here: one transaction at a time, and what waits shares one.

An operation runs right where it was asked for while one session writes and commits are quick: no thread
has to be woken for it. Else it waits for the writer's thread, which takes all that wait into one
transaction and one sync, and wakes an event loop once for them all. Either way operations take place in the order
in which they were asked for.

A commit that need not be durable is not synced; it is in the file all the same, whatever becomes of this process.
The next one that is synced makes durable all that stands before it in the database's log.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from _queue import SimpleQueue
from collections import deque
from collections.abc import Callable, Sequence
from itertools import groupby
from random import random
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.delivering import deliver, finish
from lousho_cli.stores.sqlite.appending import Append, append_all
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.errors import BUSY, code_of, storage_error
from lousho_cli.stores.sqlite.job import Asked
from lousho_cli.stores.sqlite.opening import BUSY_S, size_log
from lousho_cli.stores.threads import started

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

INLINE_BELOW_S = 0.001
_CROWD = 8
"""So many operations in one commit come from a crowd; it has left once one comes alone."""
_PATIENCE_S = (0.0005, 0.01)


class Writer:
    """The one writer of a store object.

    is_alone: whether no more than one session writes, which may hold its own event loop up for the time of a quick commit.
    sync_failed: is told when what was written before may not be on the disk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = threading.Lock()
        self._waiting: deque[Asked[Any]] = deque()
        self._signal: SimpleQueue[None] = SimpleQueue()
        self._awake = False
        self._waking: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._level = ""
        self._crowd = False
        self._stopped = False
        self.unsynced = False
        self.average = 0.0
        self.is_alone: Callable[[], bool] = lambda: True
        self.sync_failed: Callable[[SDKError], None] = lambda error: None

    async def run(self, job: Asked[T]) -> T:
        """Carries an operation out.

        Raises:
            SDKError: what the operation raised, or a StorageError where it could not be written.
        """
        if not self._waiting and self._may_hold_up() and self._try_now(job):
            return job.outcome()
        waited = self._queued(job)
        return job.outcome() if waited is None else await waited

    async def run_with_others(self, job: Asked[T]) -> T:
        """``run``, but behind whatever else is ready now, which may ask for something too."""
        waited = self._queued(job)
        return job.outcome() if waited is None else await waited

    def send(self, job: Asked[Any]) -> None:
        """``run``, without waiting for the outcome: what is asked for next stands behind it."""
        if not self._waiting and self._may_hold_up() and self._try_now(job):
            return
        loop = self._loop()
        if loop is None:
            self._perform_behind(job)
        else:
            self._queue(job, loop)

    def _may_hold_up(self) -> bool:
        """Whether an event loop can wait for a commit itself."""
        return self.average < INLINE_BELOW_S and self.is_alone()

    def _queued(self, job: Asked[T]) -> asyncio.Future[T] | None:
        """What tells when a job that others may join is done; None where that is so now."""
        loop = self._loop()
        if loop is None:
            self._perform_behind(job)
            return None
        job.future = future = loop.create_future()
        self._queue(job, loop)
        return future

    def _loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop a wait would hold up; None where there is none, or the thread takes up nothing more."""
        import asyncio

        try:
            return None if self._stopped else asyncio.get_running_loop()
        except RuntimeError:
            return None

    def _queue(self, job: Asked[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.append(job)
        if self._stopped:  # by another thread, since we looked: nobody sees to it any more
            self._perform_waiting()
        elif self._waking is not loop:
            loop.call_soon(self._wake)  # behind whatever else is ready now: that may ask for something too
            self._waking = loop

    def _wake(self) -> None:
        """Sees to what waits: has the thread do it, unless it is one thing that is done in less time."""
        self._waking = None
        if self._waiting and not self._awake and not self._only_one_done():
            if not self._start():
                self._perform_waiting()
                return
            self._awake = True
            self._signal.put(None)

    def _only_one_done(self) -> bool:
        if len(self._waiting) > 1 or not self._may_hold_up() or not self._turn.acquire(blocking=False):
            return False
        try:
            if len(self._waiting) != 1:
                return False
            job = self._waiting.popleft()
            if not self._perform([job], patient=False):
                self._waiting.appendleft(job)
                return False
        finally:
            self._turn.release()
        tell = finish if job.future is None or job.future.get_loop() is self._loop() else deliver  # another loop may have asked for it
        tell([job])
        return True

    def _perform_behind(self, job: Asked[Any]) -> None:
        with self._turn:
            self._perform([job])

    def run_now(self, job: Asked[T]) -> T:
        """Carries an operation out on this thread, behind whatever is under way. Raises like ``run``."""
        self._perform_behind(job)
        return job.outcome()

    def try_now(self, job: Asked[Any]) -> bool:
        """Carries an operation out on this thread if nothing else is under way; False when it was not done."""
        return self._try_now(job) and job.error is None

    def _try_now(self, job: Asked[Any]) -> bool:
        if not self._turn.acquire(blocking=False):
            return False
        try:
            return not self._waiting and self._perform([job], patient=False)
        finally:
            self._turn.release()

    # The thread

    def _start(self) -> bool:
        """Sees that there is a thread; False where there can be none now."""
        if self._thread is None:
            with contextlib.suppress(StorageError):
                self._thread = started(self._serve, "lousho-sqlite")
        return self._thread is not None

    def _serve(self) -> None:
        while not self._stopped:
            self._signal.get()
            self._awake = False  # what comes from here on wakes it again
            self._perform_waiting()

    def _perform_waiting(self) -> None:
        with self._turn:
            jobs = []
            while self._waiting:
                jobs.append(self._waiting.popleft())
            if jobs:
                self._perform(jobs)
        deliver(jobs)

    def stop(self, *, wait: bool = True) -> None:
        """Ends the thread; ``wait``: and returns once that has ended and all that waits is done."""
        self._stopped = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._signal.put(None)
            if wait:
                self._thread.join(BUSY_S)
        if wait:
            self._perform_waiting()  # what came while the thread was at its last turn, or before there was one

    def last(self, close: Callable[[], None], *, wait: bool = True) -> None:
        """Carries out what closes the connection, once no other thread is using it; without ``wait`` not at all where one is."""
        if self._turn.acquire(blocking=wait):
            try:
                close()
            finally:
                self._turn.release()

    # Transactions

    def _perform(self, jobs: Sequence[Asked[Any]], *, patient: bool = True) -> bool:
        """Carries jobs out and notes their outcomes; False where the database is held by others and we do not wait."""
        try:
            return self._commit(jobs, patient=patient)
        except sqlite3.Error as error:
            self._after_failure(jobs, error)
        except BaseException as error:
            # Refused, or interrupted: then whoever asked was told nothing, and reads back what stands there now.
            for job in jobs:
                if not self._is_settled(job):
                    job.fail(error)
            if not isinstance(error, Exception):
                raise
        return True

    def _commit(self, jobs: Sequence[Asked[Any]], *, patient: bool) -> bool:
        connection = self._connection()
        durable = self._must_sync(jobs)
        level = "FULL" if durable else "NORMAL"
        if level != self._level:
            connection.execute(f"PRAGMA synchronous = {level}")
            self._level = level
        crowd = len(jobs) >= _CROWD or (self._crowd and len(jobs) > 1)
        if crowd != self._crowd:
            size_log(connection, crowd=crowd)
            self._crowd = crowd
        before = connection.total_changes
        begun = time.perf_counter()
        alone = jobs[0] if len(jobs) == 1 and jobs[0].single else None
        if not self._patiently(connection, alone, patient=patient):
            return False
        if alone is None:
            begun = _rest(connection, jobs)
        if connection.total_changes != before:
            self.unsynced = not durable
            if durable:
                self.average += (time.perf_counter() - begun - self.average) * 0.1
        return True

    def _connection(self) -> sqlite3.Connection:
        """The connection that writes. What was interrupted behind its beginning left its transaction open, in which nothing would count."""
        connection = self._database.writer()
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return connection

    def _must_sync(self, jobs: Sequence[Asked[Any]]) -> bool:
        if len(jobs) == 1:
            asked = jobs[0].durable
            return self.unsynced if asked is None else asked
        asked_for = {job.durable for job in jobs}
        return True in asked_for or (None in asked_for and (self.unsynced or False in asked_for))

    def _patiently(self, connection: sqlite3.Connection, alone: Asked[Any] | None, *, patient: bool) -> bool:
        """Begins a transaction that may write, or carries out a job that is one, once no other process has one."""
        ends = 0.0
        while True:
            try:
                if alone is None:
                    connection.execute("BEGIN IMMEDIATE")
                else:
                    _carry_out(alone, connection)
            except sqlite3.OperationalError as error:
                if code_of(error) not in BUSY:
                    raise
                if not patient:
                    return False
                ends = ends or time.monotonic() + BUSY_S
                if time.monotonic() > ends:
                    raise
                least, most = _PATIENCE_S
                time.sleep(least + random() * (most - least))  # noqa: S311 - so that those who wait do not wake together
            else:
                return True

    def _after_failure(self, jobs: Sequence[Asked[Any]], error: sqlite3.Error) -> None:
        """Settles jobs whose transaction failed, by what stands in the database now; those that are not there get their own."""
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_FSYNC:
            # The system tells of a failed sync once: what was written before without one is no longer known to be there.
            self.sync_failed(storage_error(self._database.path, error))
        if len(jobs) == 1:
            job = jobs[0]
            if not self._is_settled(job):
                job.fail(storage_error(self._database.path, error))
            return
        for job in jobs:
            job.error = None
            if not self._is_settled(job):
                self._perform([job])  # one that can not be written must not take the others with it

    def _is_settled(self, job: Asked[Any]) -> bool:
        try:
            return job.stands(self._connection())
        except (sqlite3.Error, SDKError):
            return False


def _rest(connection: sqlite3.Connection, jobs: Sequence[Asked[Any]]) -> float:
    """What follows the beginning of a transaction; gives when its commit began."""
    try:
        for kind, some in groupby(jobs, type):
            if kind is Append:
                _append(cast("list[Append]", list(some)), connection)
            else:
                for job in some:
                    _carry_out(job, connection)
        begun = time.perf_counter()
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return begun


def _append(appends: Sequence[Append], connection: sqlite3.Connection) -> None:
    """Appends together; those that could not go in so are asked alone, and say why."""
    if len(appends) > 1 and append_all(connection, appends):
        return
    for append in appends:
        if len(appends) == 1 or not append.stands(connection):
            _carry_out(append, connection)


def _carry_out(job: Asked[Any], connection: sqlite3.Connection) -> None:
    try:
        job.result = job.carry_out(connection)
    except SDKError as error:
        job.fail(error)
