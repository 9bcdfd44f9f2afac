"""Every question the program asks of a store. The only module here that reads one, and it never writes.

What is asked runs on a thread with a store of its own, so that neither a slow disk nor a large session holds up the
screen. The list has its thread, a session and its checkpoints have another: a long list never delays what was opened.

A database that nobody else has open is tidied by its driver when it is closed: its log is folded in. No row changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from lousho_cli.app.looking_on import PAGE, Looker, Place, SessionsNow, check_still_there
from lousho_cli.app.sync import run_now
from lousho_cli.app.wiring import open_store
from lousho_cli.domain.no_thread import no_thread
from lousho_cli.errors import SDKError
from lousho_cli.ports.log_store import LogStore
from lousho_cli.tui.session_reading import SessionReader
from lousho_cli.tui.state.session_rows import Sessions, sessions_of

T = TypeVar("T")

_FIRST_PAGE = 60
"""So many sessions are read before any is shown: as many as most screens hold."""

_FIRST_S = 0.1
"""The screen waits for them no longer than so many seconds."""

Ask = Callable[[LogStore | None], Coroutine[Any, Any, T]]
"""A function of ``app`` that reads: it gets the store, None where there is none yet."""

_OPENED = 4
"""So many sessions stay read, the last that were opened."""


class Reader:
    """Reads one store.

    Args:
        flag: which one, as ``--store`` says it; None looks further as every command does.
    """

    def __init__(self, flag: str | None = None) -> None:
        self.flag = flag
        self._lists = _Thread("lousho-lists", flag)
        self._looks = _Thread("lousho-looks", flag)
        self._looker = Looker()
        self._looked_at: LogStore | None = None
        self._seen: SessionsNow | None = None
        self._begun: Future[Sessions | None] | None = None
        self._known = Sessions()
        self._opened: dict[str, SessionReader] = {}

    def first(self) -> Sessions | None:
        """Some of the newest sessions, for which the caller waits a moment; None where there are none so soon, or ever.

        ``sessions`` gives them then, or says why not. To be called before there is a screen: while one is being made, a
        thread that reads gets hardly a turn.
        """
        begun = self._lists.begin(self._read_sessions)
        try:
            return begun.result(_FIRST_S)
        except TimeoutError:
            self._begun = begun
            return None
        except SDKError:
            return None

    async def sessions(self) -> Sessions | None:
        """The sessions as they are now, some of them only the next time; None where nothing changed since the last look.

        Raises:
            SDKError: the store can not be read.
        """
        begun, self._begun = self._begun, None
        return await (asyncio.wrap_future(begun) if begun is not None else self._lists.run(self._read_sessions))

    async def _read_sessions(self, store: LogStore | None) -> Sessions | None:
        if store is not self._looked_at:
            self._looked_at, self._looker = store, Looker()
        before = self._seen
        now = await (self._looker.glance(store, _FIRST_PAGE) if before is None else self._looker.look(store, PAGE))
        self._seen = now
        if before is not None and (now.listing is before.listing and (now.driven, now.left) == (before.driven, before.left)):
            return None
        found = sessions_of(now, {row.id: row for row in self._known.rows})
        same = before is not None and found == self._known
        self._known = found
        return None if same else found

    async def look(self, ask: Ask[T]) -> T:
        """What ``ask`` gives for the store, such as ``lambda store: show(store, "trip@3")``, read on the thread for sessions.

        Raises:
            SDKError: what ``ask`` raises, or the store can not be opened.
        """
        return await self._looks.run(ask)

    def session(self, session_id: str) -> SessionReader:
        """What reads one session, its ring and its checkpoints; the same one for as long as few others were asked for."""
        found = self._opened.pop(session_id, None) or SessionReader(self, session_id)
        self._opened[session_id] = found
        while len(self._opened) > _OPENED:
            del self._opened[next(iter(self._opened))]
        return found

    def close(self) -> None:
        """Waits for nothing; what is still read is thrown away."""
        self._lists.close()
        self._looks.close()


class _Thread:
    """One thread and the store that it opens when it is first asked, and again while there is none yet.

    The process does not wait for it: who leaves while a slow disk is being read is gone at once.
    """

    def __init__(self, name: str, flag: str | None) -> None:
        self._name = name
        self._flag = flag
        self._asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._closed = False
        self._store: LogStore | None = None
        self._place: Place = None

    async def run(self, ask: Ask[T]) -> T:
        return await asyncio.wrap_future(self.begin(ask))

    def begin(self, ask: Ask[T]) -> Future[T]:
        if self._thread is None:
            thread = Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                raise no_thread(SDKError, error) from error
            self._thread = thread  # not before: where none can be started, nobody would ever answer
        found: Future[T] = Future()

        def answer() -> None:
            if not found.set_running_or_notify_cancel():
                return
            try:
                found.set_result(self._now(ask))
            except BaseException as error:  # noqa: BLE001 - whoever asked gets it
                found.set_exception(error)

        self._asked.put(answer)
        return found

    def _work(self) -> None:
        while (answer := self._asked.get()) is not None and not self._closed:
            answer()

    def _now(self, ask: Ask[T]) -> T:
        place = check_still_there(self._flag) if self._store is not None else None
        if self._store is None or place != self._place:
            self._store = open_store(self._flag, create=False)  # another one lies there now; the old one may be read for ever
            self._place = check_still_there(self._flag) if self._store is not None else None
        store = self._store
        return run_now(lambda: ask(store))

    def close(self) -> None:
        self._closed = True
        self._asked.put(None)
