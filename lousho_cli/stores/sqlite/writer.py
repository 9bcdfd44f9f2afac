"""Everything that is written goes through here: one transaction at a time, and what waits shares one.

An operation runs right where it was asked for while nothing else waits and commits are quick: no thread
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
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.delivering import deliver
from lousho_cli.stores.sqlite.appending import Append, append_all
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.errors import BUSY, code_of, storage_error
from lousho_cli.stores.sqlite.opening import BUSY_S, size_log

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

Operation = Callable[[sqlite3.Connection], T]
"""Reads and writes within a transaction. One that raises one of our errors must have written nothing."""

INLINE_BELOW_S = 0.001
_CROWD = 8
"""So many operations in one commit come from a crowd; it has left once one comes alone."""
_PATIENCE_S = (0.0005, 0.01)


class Job(Generic[T]):
    """One operation on its way.

    durable: whether it must be synced; None: only if something that was written before it was not.
    single: it is one statement where it is carried out, and so a transaction of its own where it is alone.
    settled: says whether its outcome stands in the database, where a commit did not tell.
    failed: is told of what went wrong, before whoever waits for it.
    append: it is one, and can be carried out with others.
    """

    __slots__ = ("append", "durable", "error", "failed", "future", "operation", "result", "settled", "single")

    def __init__(
        self,
        operation: Operation[T],
        durable: bool | None = False,
        settled: Callable[[sqlite3.Connection], bool] | None = None,
        failed: Callable[[SDKError], None] | None = None,
        *,
        single: bool = False,
        append: Append | None = None,
    ) -> None:
        self.operation, self.durable, self.settled, self.failed, self.single = operation, durable, settled, failed, single
        self.append = append
        self.result: T | None = None
        self.error: BaseException | None = None
        self.future: asyncio.Future[T] | None = None

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return cast("T", self.result)

    def fail(self, error: BaseException) -> None:
        self.error = error
        if self.failed is not None:
            self.failed(error if isinstance(error, SDKError) else StorageError(f"writing was interrupted: {error!r}"))


class Writer:
    """The one writer of a store object."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = threading.Lock()
        self._waiting: deque[Job[Any]] = deque()
        self._signal: SimpleQueue[None] = SimpleQueue()
        self._awake = False
        self._waking: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._level = ""
        self._crowd = False
        self._stopped = False
        self.unsynced = False
        self.average = 0.0
        self.sync_failed: Callable[[SDKError], None] = lambda error: None

    @property
    def quick(self) -> bool:
        """Whether commits take so little time that an event loop can wait for them itself."""
        return self.average < INLINE_BELOW_S

    async def run(self, job: Job[T], *, inline: bool) -> T:
        """Carries an operation out.

        Args:
            inline: right here, if nothing else is under way and nobody else holds the database.

        Raises:
            SDKError: what the operation raised, or a StorageError where it could not be written.
        """
        if inline and self._try_now(job):
            return job.outcome()
        if self._stopped:
            return self.run_now(job)  # its thread takes up nothing more
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.run_now(job)  # driven without an event loop, there is nobody to hold up
        job.future = loop.create_future()
        self._waiting.append(job)
        if self._waking is not loop:
            loop.call_soon(self._wake)  # behind whatever else is ready now: that may ask for something too
            self._waking = loop
        return await job.future

    def _wake(self) -> None:
        """Wakes the thread where something waits that it does not know of."""
        self._waking = None
        if self._waiting and not self._awake:
            self._awake = True
            self._start()
            self._signal.put(None)

    def run_now(self, job: Job[T]) -> T:
        """Carries an operation out on this thread, behind whatever is under way. Raises like ``run``."""
        with self._turn:
            self._perform([job])
        return job.outcome()

    def try_now(self, job: Job[Any]) -> bool:
        """Carries an operation out on this thread if nothing else is under way; False when it was not done."""
        return self._try_now(job) and job.error is None

    def _try_now(self, job: Job[Any]) -> bool:
        if not self._turn.acquire(blocking=False):
            return False
        try:
            return not self._waiting and self._perform([job], patient=False)
        finally:
            self._turn.release()

    # The thread

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="lousho-sqlite", daemon=True)
            self._thread.start()

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

    # Transactions

    def _perform(self, jobs: Sequence[Job[Any]], *, patient: bool = True) -> bool:
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

    def _commit(self, jobs: Sequence[Job[Any]], *, patient: bool) -> bool:
        connection = self._database.writer()
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

    def _must_sync(self, jobs: Sequence[Job[Any]]) -> bool:
        if len(jobs) == 1:
            asked = jobs[0].durable
            return self.unsynced if asked is None else asked
        asked_for = {job.durable for job in jobs}
        return True in asked_for or (None in asked_for and (self.unsynced or False in asked_for))

    def _patiently(self, connection: sqlite3.Connection, alone: Job[Any] | None, *, patient: bool) -> bool:
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

    def _after_failure(self, jobs: Sequence[Job[Any]], error: sqlite3.Error) -> None:
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

    def _is_settled(self, job: Job[Any]) -> bool:
        if job.settled is None:
            return False
        try:
            return job.settled(self._database.writer())
        except (sqlite3.Error, SDKError):
            return False


def _rest(connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> float:
    """What follows the beginning of a transaction; gives when its commit began."""
    try:
        for appends, some in groupby(jobs, _is_append):
            if appends:
                _append(list(some), connection)
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


def _is_append(job: Job[Any]) -> bool:
    return job.append is not None


def _append(jobs: Sequence[Job[Any]], connection: sqlite3.Connection) -> None:
    """Appends together; those that could not go in so are asked alone, and say why."""
    if len(jobs) > 1 and append_all(connection, [job.append for job in jobs if job.append is not None]):
        return
    for job in jobs:
        if len(jobs) == 1 or not (job.append is not None and job.append.stands(connection)):
            _carry_out(job, connection)


def _carry_out(job: Job[Any], connection: sqlite3.Connection) -> None:
    try:
        job.result = job.operation(connection)
    except SDKError as error:
        job.fail(error)
