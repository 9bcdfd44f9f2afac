"""What a store object is made of while it is open, so that it can be taken down, and begun anew in a forked child."""

from __future__ import annotations

import contextlib
import sqlite3
from functools import partial

from lousho_cli.errors import SDKError
from lousho_cli.stores.forked import leave_to_parent
from lousho_cli.stores.sqlite.database import Database
from lousho_cli.stores.sqlite.job import Job
from lousho_cli.stores.sqlite.keeper import Keeper
from lousho_cli.stores.sqlite.opening import Adopt
from lousho_cli.stores.sqlite.presence import Presence
from lousho_cli.stores.sqlite.writer import Writer


class Parts:
    """The open file, the one writer, our lock among the owners, and who renews its lease."""

    def __init__(self, path: str, adopt: Adopt) -> None:
        self.database = Database(path, adopt)
        self.presence = Presence(self.database.path)
        self.writer = Writer(self.database)
        self.keeper = Keeper(self.writer, self.presence)

    def close(self, *, wait: bool = True) -> None:
        """Ends what runs, takes our name off the owners and closes the file.

        Args:
            wait: not for the garbage collector, which may have interrupted a transaction of another store.
        """
        self.keeper.stop()
        self.writer.stop(wait=wait)
        if self.presence.is_here:
            carry_out = self.writer.run_now if wait else self.writer.try_now
            with contextlib.suppress(SDKError, sqlite3.Error):
                carry_out(Job(self.presence.leave, durable=None))
        self.presence.close()
        self.writer.last(partial(self.database.close, wait=wait), wait=wait)

    def leave_in_child(self) -> None:
        """In a forked child: lets go of what is the parent's, without a trace in the file."""
        self.keeper.leave_in_child()
        self.presence.close(remove=False)
        leave_to_parent(self.database.abandon(), self)
