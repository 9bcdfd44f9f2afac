"""What a store object is made of while it is open, so that it can be taken down, and begun anew in a forked child."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lousho_cli.errors import SDKError
from lousho_cli.stores.postgres.address import Address
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.keeper import Keeper
from lousho_cli.stores.postgres.lookout import Lookout
from lousho_cli.stores.postgres.presence import Presence
from lousho_cli.stores.postgres.writer import Writer

if TYPE_CHECKING:
    from lousho_cli.stores.postgres.store import PostgresStore


class Parts:
    """The server, the one writer, our lock among the owners, who renews its lease, and who looks out."""

    def __init__(self, address: Address) -> None:
        self.channel = f"lousho_{address.schema}"
        self.database = Database(address)
        self.presence = Presence()
        self.writer = Writer(self.database)
        self.keeper = Keeper(self.database, self.presence, self.channel)
        self.lookout = Lookout(self.database, self.channel)

    def close(self) -> None:
        """Ends what runs, takes our name off the owners and closes the connections."""
        self.lookout.stop()
        self.keeper.stop()
        self.writer.stop()
        if self.presence.entered:
            with contextlib.suppress(SDKError):
                self.database.now(self.presence.leave, patience_s=0.5)
        self.presence.close()
        self.database.close()

    def leave_in_child(self) -> None:
        """In a forked child: lets go of what is the parent's, without a trace on the server."""
        self.lookout.stop()
        self.keeper.leave_in_child()
        self.presence.close(remove=False)
        _parents.append((self.database.abandon(), self))


_parents: list[Any] = []
"""What is a parent process's. Its connections must not be closed here, so they are kept for ever."""


@cache
def open_stores() -> WeakSet[PostgresStore]:
    """The stores of this process; a forked child begins each of them anew."""
    os.register_at_fork(after_in_child=_begin_anew)
    return WeakSet()


def _begin_anew() -> None:
    for store in list(open_stores()):
        store.begin_anew()
