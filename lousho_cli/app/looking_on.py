"""The sessions of a store for who keeps looking: the list, what waits, and who drives those that have not ended."""

from __future__ import annotations

import os
import time
from heapq import nlargest

import msgspec

from lousho_cli.app.drivers import Driven, Drivers
from lousho_cli.app.pending import pending_of
from lousho_cli.app.results import PendingItem
from lousho_cli.app.sessions import Listed, Listing, find_session, listed
from lousho_cli.app.showing import read_point
from lousho_cli.app.wiring import locate_store, log_stamps
from lousho_cli.core.addresses import parse_address
from lousho_cli.core.session_ids import keeps_only_a_pause
from lousho_cli.domain.heads import Head
from lousho_cli.errors import SDKError, StorageError
from lousho_cli.ports.log_store import LogStore

PAGE = 2000
"""So many sessions are read at a time, unless told otherwise."""

_SECONDS = 0.25
"""A page ends after so long, however few sessions it has: a slow disk shows what it gave, and goes on."""

_GLANCED = 150
"""Among so many sessions, those that began last, a first look finds the newest."""


class SessionsNow(msgspec.Struct, frozen=True):
    """The sessions as they are, newest first.

    driven: who drives those that have not ended.
    pending: everything that waits for a person, oldest first.
    left: so many sessions have not been read yet; the next look reads more of them.
    """

    listing: Listing = Listing()
    driven: Driven = Driven()
    pending: tuple[PendingItem, ...] = ()
    left: int = 0


class Looker:
    """Looks at the sessions of one store again and again, and reads only those that changed since. Writes nothing."""

    def __init__(self) -> None:
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._todo: dict[str, tuple[int, ...]] = {}
        self._heads: dict[str, Head] = {}
        self._damaged: dict[str, str] = {}
        self._listed: dict[str, Listed] = {}
        self._drivers = Drivers()
        self._now: SessionsNow | None = None

    async def glance(self, store: LogStore | None, at_most: int) -> SessionsNow:
        """Some of the sessions, those that seem newest, soon however many there are; ``left`` counts the others. For the start.

        Raises:
            StorageError: the store can not be read.
        """
        seen = log_stamps(store, _GLANCED) if store is not None else None
        if store is None or seen is None:
            return await self.look(store, at_most)
        self._todo, others = seen
        left = await self._read_page(store, at_most)
        self._todo = {}  # more of them, and perhaps newer ones, are found by a look at all
        return await self._found(store, left + others)

    async def look(self, store: LogStore | None, at_most: int = PAGE) -> SessionsNow:
        """The sessions of the store as they are now, those with only a history left included.

        Where no session has changed, ``listing`` and ``pending`` are the same objects as before.

        Args:
            store: always the same; None stands for an empty one.
            at_most: read so many sessions, the newest of those that are new or changed; ``left`` counts the others.

        Raises:
            StorageError: it can not be read.
        """
        if store is None:
            return SessionsNow()
        if not self._todo:
            stamps = log_stamps(store)
            if stamps is None:
                return await self._found(store, await self._read_all(store))
            self._compare(stamps[0])
        return await self._found(store, await self._read_page(store, at_most))

    async def _found(self, store: LogStore, left: int) -> SessionsNow:
        if self._now is None:
            sessions = tuple(sorted(self._listed.values(), key=lambda one: (one.updated_at, one.id), reverse=True))
            listing = Listing(sessions, len(sessions), tuple(sorted(self._damaged.items())))
            self._now = SessionsNow(listing, pending=pending_of(self._heads.values()))
        return msgspec.structs.replace(self._now, driven=await self._drivers.ask(store, self._now.listing.sessions), left=left)

    async def _read_all(self, store: LogStore) -> int:
        found = await store.heads()
        self._now = None
        self._heads, self._damaged, self._listed = {}, dict(found.damaged), {}
        for head in found.heads:
            self._keep(head.id, head)
        return 0

    def _compare(self, stamps: dict[str, tuple[int, ...]]) -> None:
        """Finds what is to be read, the newest first; forgets what is gone."""
        for gone in self._stamps.keys() - stamps.keys():
            self._forget(gone)
            del self._stamps[gone]
        self._todo = {one: stamp for one, stamp in stamps.items() if self._stamps.get(one) != stamp}

    async def _read_page(self, store: LogStore, at_most: int) -> int:
        """Reads some of what is to be read; how many are left."""
        ends = time.monotonic() + _SECONDS
        for session_id in nlargest(at_most, self._todo, key=self._todo.__getitem__):
            self._forget(session_id)
            self._stamps[session_id] = self._todo.pop(session_id)
            try:
                self._keep(session_id, await store.head(session_id))
            except SDKError as error:  # a folder may have a name that no session has
                self._damaged[session_id] = error.detail
            if time.monotonic() > ends:
                break
        return len(self._todo)

    def _forget(self, session_id: str) -> None:
        self._now = None
        for kept in (self._heads, self._damaged, self._listed):
            kept.pop(session_id, None)

    def _keep(self, session_id: str, head: Head | None) -> None:
        if head is None:
            return
        self._heads[session_id] = head
        if not keeps_only_a_pause(head):
            self._listed[session_id] = listed(head)


Place = tuple[int, int] | None
"""Which folder or file a store lies in, as the disk numbers it; None for one that lies in none."""


def check_still_there(flag: str | None) -> Place:
    """Makes sure that a store that was there still is. One that is taken away under a reader looks like an empty one.

    Args:
        flag: as ``--store`` says it.

    Returns:
        Where it lies: something else where another store was put there in its place.

    Raises:
        StorageError: it is gone, or can not be looked at.
    """
    place = locate_store(flag)
    path = place.folder / "sessions" if place.folder is not None else place.file
    if path is None:
        return None
    try:
        info = os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StorageError(f"the store is gone: {path}") from error
    except OSError as error:
        raise StorageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    return info.st_dev, info.st_ino


async def find_point(store: LogStore | None, text: str) -> str:
    """The address that is meant, with the session's whole id. A damaged session is found too.

    Args:
        text: an id, the beginning of one, or an address in one.

    Raises:
        ConfigurationError: it is none of these.
        AmbiguousError: several sessions begin so.
        NotFoundError: there is no such session or checkpoint; what there is is listed.
    """
    address = parse_address(text)
    there, session_id = await find_session(store, address.session)
    if address.is_point:
        await read_point(there, text)
    return session_id + text[len(address.session) :]
