"""What a store object is made of while it is open, so that it can be taken down, and begun anew in a forked child."""

from __future__ import annotations

import contextlib

from lousho_cli.errors import SDKError
from lousho_cli.stores.forked import leave_to_parent
from lousho_cli.stores.postgres.address import Address
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.keeper import Keeper
from lousho_cli.stores.postgres.lookout import Lookout
from lousho_cli.stores.postgres.presence import Presence
from lousho_cli.stores.postgres.writer import Writer


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
        leave_to_parent(self.database.abandon(), self)
