"""What a store object is made of while it is open, so that it can be taken down, and begun anew in a forked child."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lousho_cli.errors import SDKError
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.keeper import Keeper
from lousho_cli.stores.sqlite.opening import Adopt
from lousho_cli.stores.sqlite.presence import Presence
from lousho_cli.stores.sqlite.writer import Job, Writer

if TYPE_CHECKING:
    from lousho_cli.stores.sqlite.store import SqliteStore


class Parts:
    """The open file, the one writer, our lock among the owners, and who renews its lease."""

    def __init__(self, path: str, adopt: Adopt) -> None:
        self.database = Database(path, adopt)
        self.presence = Presence(self.database.path)
        self.writer = Writer(self.database)
        self.keeper = Keeper(self.writer, self.presence)

    def let_go(self) -> None:
        """``close`` for the garbage collector, which may have interrupted a transaction of another store: waits for nothing."""
        self.keeper.stop()
        self.writer.stop(wait=False)
        if self.presence.is_here:
            with contextlib.suppress(SDKError, sqlite3.Error):
                self.writer.try_now(Job(self.presence.leave, durable=None))
        self.presence.close()
        self.database.close()

    def close(self) -> None:
        """Ends what runs, takes our name off the owners and closes the file."""
        self.keeper.stop()
        self.writer.stop()
        if self.presence.is_here:
            with contextlib.suppress(SDKError, sqlite3.Error):
                self.writer.run_now(Job(self.presence.leave, durable=None))
        self.presence.close()
        self.database.close()

    def leave_in_child(self) -> None:
        """In a forked child: lets go of what is the parent's, without a trace in the file."""
        self.keeper.leave_in_child()
        self.presence.close(remove=False)
        _parents.append((self.database.abandon(), self))


_parents: list[Any] = []
"""Connections of a parent process. Closing them here would drop its locks, so they are kept for ever."""


@cache
def open_stores() -> WeakSet[SqliteStore]:
    """The stores of this process; a forked child begins each of them anew."""
    os.register_at_fork(after_in_child=_begin_anew)
    return WeakSet()


def _begin_anew() -> None:
    for store in list(open_stores()):
        store.begin_anew()
