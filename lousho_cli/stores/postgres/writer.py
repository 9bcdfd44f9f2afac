"""Everything that is appended goes through here: one statement at a time, and what waits meanwhile shares the next.

Its thread is woken behind all that an event loop has ready, since that may have more to append, and wakes the loop once for all that
one statement brought. Appends of one claim stand in the order in which they were asked for.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lousho_cli.errors import OwnershipLostError, SDKError, StorageError
from lousho_cli.stores.delivering import deliver
from lousho_cli.stores.postgres.appending import Append, append_all
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.errors import ServerAwayError
from lousho_cli.stores.threads import started

if TYPE_CHECKING:
    import asyncio

_MOST = 256
_MOST_BYTES = 16_000_000


class Job:
    """One append on its way."""

    __slots__ = ("append", "error", "future", "size")
    result = None

    def __init__(self, append: Append, size: int) -> None:
        self.append, self.size = append, size
        self.error: BaseException | None = None
        self.future: asyncio.Future[None] | None = None

    def fail(self, error: BaseException) -> None:
        """Notes what went wrong; behind that, its claim writes no more."""
        self.error = error
        if not isinstance(error, OwnershipLostError):
            known = error if isinstance(error, SDKError) else StorageError(f"writing was interrupted: {error!r}")
            self.append.claim.fail(known)


class Writer:
    """The one writer of a store object."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = threading.RLock()
        self._waiting: deque[Job] = deque()
        self._more = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self._waking: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    async def run(self, append: Append, size: int = 0) -> None:
        """Carries an append out.

        Raises:
            OwnershipLostError: another owner has the log.
            StorageError: it could not be written; the writer is dead until a new claim.
        """
        import asyncio

        job = Job(append, size)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._perform_behind(job)
            if job.error is not None:
                raise job.error from None
            return
        job.future = loop.create_future()
        with self._more:
            self._waiting.append(job)
        if self._waking is not loop:
            self._waking = loop
            loop.call_soon(self._wake)
        if self._stopped:
            self._take_turn()
        await job.future

    def _wake(self) -> None:
        """Has the thread look, which there may not be yet."""
        self._waking = None
        with self._more:
            if self._thread is None and not self._stopped:
                with contextlib.suppress(StorageError):
                    self._thread = started(self._serve, "lousho-append")
            self._more.notify()
        while self._thread is None and self._waiting:  # there can be none now: the event loop is held up instead
            self._take_turn()

    def _perform_behind(self, job: Job) -> None:
        with self._more:
            self._waiting.append(job)
        while job in self._waiting or not self._turn.acquire(blocking=False):
            self._take_turn()
        self._turn.release()

    def _serve(self) -> None:
        while True:
            with self._more:
                while not self._waiting and not self._stopped:
                    self._more.wait()
                if self._stopped:
                    return
            self._take_turn()

    def _take_turn(self) -> None:
        with self._turn:
            jobs = self._next()
            if jobs:
                self._perform(jobs)
                deliver(jobs)

    def _next(self) -> list[Job]:
        """What waits, as far as one statement should carry it."""
        jobs: list[Job] = []
        size = 0
        with self._more:
            while self._waiting and len(jobs) < _MOST and (not jobs or size + self._waiting[0].size <= _MOST_BYTES):
                jobs.append(self._waiting.popleft())
                size += jobs[-1].size
        return jobs

    def _perform(self, jobs: Sequence[Job]) -> None:
        groups = _by_log(jobs)
        appends = [_joined([job.append for job in group]) for group in groups]
        try:
            outcome: list[SDKError | None] = self._database.now(lambda hand: append_all(hand, appends))
        except BaseException as error:
            if isinstance(error, StorageError) and not isinstance(error, ServerAwayError) and len(groups) > 1:
                for group in groups:
                    self._perform(group)  # one that can not be written must not take the others with it
                return
            for job in jobs:
                job.fail(error)
            if not isinstance(error, Exception):
                raise
            return
        for group, refused in zip(groups, outcome, strict=True):
            for job in group if refused is not None else ():
                job.fail(refused)  # type: ignore[arg-type]

    def stop(self) -> None:
        """Ends the thread once all that waits is done."""
        with self._more:
            self._stopped = True
            self._more.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5.0)
        while self._waiting:
            self._take_turn()

    def abandon(self) -> None:
        """Without waiting: nobody is there any more to be told."""
        with contextlib.suppress(RuntimeError):
            self._stopped = True
            if self._more.acquire(blocking=False):
                self._more.notify()
                self._more.release()


def _by_log(jobs: Sequence[Job]) -> list[list[Job]]:
    groups: dict[int, list[Job]] = {}
    for job in jobs:
        groups.setdefault(id(job.append.claim), []).append(job)
    return list(groups.values())


def _joined(appends: Sequence[Append]) -> Append:
    """Appends of one claim, one behind the other, as one."""
    if len(appends) == 1:
        return appends[0]
    lines = [line for append in appends for line in append.lines]
    return Append(appends[0].claim, appends[0].before, lines, any(append.durable for append in appends))
