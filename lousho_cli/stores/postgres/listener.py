"""The one connection that listens. It needs a server of its own to talk to: a pooler would give what it hears to somebody else.

Where the address leads to a pooler and none is given to listen at, nobody listens. Whether it does is seen by the number of the
server's process: a pooler tells a client another one than the server tells it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import ReferenceType

from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres.database import Database, defaults
from lousho_cli.stores.postgres.driver import Connection, Error
from lousho_cli.stores.threads import started

if TYPE_CHECKING:
    from lousho_cli.stores.postgres.lookout import Lookout

_AT_ONCE_S = 1.0
_AGAIN_S = (0.2, 5.0)


class Listener:
    """Hears what the server tells on a channel, on a thread, from ``begin`` on. ``told`` is who is told."""

    def __init__(self, database: Database, channel: str, told: ReferenceType[Lookout]) -> None:
        self._database, self._channel, self._told = database, channel, told
        self._address = database.address
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self.hears = False

    def begin(self) -> None:
        """Begins to listen, if that was not begun."""
        if self._thread is None and not self._stopped.is_set():
            with suppress(StorageError):  # until there can be one, somebody looks instead
                self._thread = started(self._run, "lousho-listen")

    def _run(self) -> None:
        pause = _AGAIN_S[0]
        while not self._stopped.is_set():
            try:
                if not self._listen():
                    return
                pause = _AGAIN_S[0]
            except (Error, OSError):
                self.hears = False
                self._stopped.wait(pause)
                pause = min(pause * 2, _AGAIN_S[1])

    def _listen(self) -> bool:
        """Listens until it is stopped; False where nobody can listen there."""
        url = self._address.listen or self._address.url
        settings = {**self._database.settings, **defaults(url)}
        with Connection.connect(url, **settings) as connection:
            ((pid,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
            if pid != connection.info.backend_pid:
                return False
            connection.execute(f'LISTEN "{self._channel}"')
            self.hears = True
            self._tell(None)
            while not self._stopped.is_set() and self._told() is not None:
                for notice in connection.notifies(timeout=_AT_ONCE_S, stop_after=1):
                    self._tell(notice.payload)
        self.hears = False
        return not self._stopped.is_set() and self._told() is not None

    def _tell(self, log_id: str | None) -> None:
        told = self._told()
        if told is None:
            return
        if log_id is None:
            told.tell_all()
        else:
            told.tell(log_id)

    def stop(self) -> None:
        """Ends the thread within a second; it holds nobody up."""
        self._stopped.set()
