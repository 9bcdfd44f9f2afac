"""Every question the program asks of a store. The only module here that reads one, and it never writes.

What is asked runs on a thread with a store of its own, so that neither a slow disk nor a large session holds up the
screen. The list has its thread, a session and its checkpoints have another: a long list never delays what was opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lousho_cli.app.looking_on import PAGE, Looker, SessionsNow, check_still_there
from lousho_cli.app.sync import run_now
from lousho_cli.app.wiring import open_store
from lousho_cli.errors import SDKError
from lousho_cli.ports.log_store import LogStore
from lousho_cli.tui.session_reading import SessionReader
from lousho_cli.tui.state.session_rows import Sessions, sessions_of

T = TypeVar("T")

_FIRST_PAGE = 100
"""So many sessions are read before any is shown: more than a screen holds."""

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
        self._seen: SessionsNow | None = None
        self._known = Sessions()
        self._opened: dict[str, SessionReader] = {}

    def first(self) -> Sessions | None:
        """The newest sessions, read while the caller waits; None where the store can not be read, which ``sessions`` will say.

        To be called before there is a screen: while one is being made, a thread that reads gets hardly a turn.
        """
        try:
            return self._lists.wait(self._read_sessions)
        except SDKError:
            return None

    async def sessions(self) -> Sessions | None:
        """The sessions as they are now, some of them only the next time; None where nothing changed since the last look.

        Raises:
            SDKError: the store can not be read.
        """
        return await self._lists.run(self._read_sessions)

    async def _read_sessions(self, store: LogStore | None) -> Sessions | None:
        before = self._seen
        now = await self._looker.look(store, _FIRST_PAGE if before is None else PAGE)
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
    """One thread and the store that it opens when it is first asked, and again while there is none yet."""

    def __init__(self, name: str, flag: str | None) -> None:
        self._flag = flag
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._store: LogStore | None = None

    async def run(self, ask: Ask[T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._now, ask)

    def wait(self, ask: Ask[T]) -> T:
        return self._pool.submit(self._now, ask).result()

    def _now(self, ask: Ask[T]) -> T:
        if self._store is None:
            self._store = open_store(self._flag, create=False)
        else:
            check_still_there(self._flag)
        store = self._store
        return run_now(lambda: ask(store))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
