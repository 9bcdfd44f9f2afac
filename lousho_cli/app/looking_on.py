"""The sessions of a store for who keeps looking: the list, what waits, and who drives those that have not ended."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from itertools import islice

import msgspec

from lousho_cli.app.pending import pending_of
from lousho_cli.app.results import PendingItem
from lousho_cli.app.sessions import Listed, Listing, find_session, listed
from lousho_cli.app.showing import read_point
from lousho_cli.app.wiring import locate_store, log_stamps
from lousho_cli.core.addresses import parse_address
from lousho_cli.core.session_ids import keeps_only_a_pause
from lousho_cli.domain.heads import Head
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import LogStore

_ASKED = 200
"""Of so many sessions that have not ended, the newest, it is asked who drives them: that costs a look at each."""

PAGE = 2000
"""So many sessions are read at a time, unless told otherwise."""


class SessionsNow(msgspec.Struct, frozen=True):
    """The sessions as they are, newest first.

    driven: by whom, in words, where somebody drives a session now.
    pending: everything that waits for a person, oldest first.
    left: so many sessions have not been read yet; the next look reads more of them.
    """

    listing: Listing = Listing()
    driven: dict[str, str] = {}
    pending: tuple[PendingItem, ...] = ()
    left: int = 0


class Looker:
    """Looks at the sessions of one store again and again, and reads only those that changed since. Writes nothing."""

    def __init__(self) -> None:
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._heads: dict[str, Head] = {}
        self._damaged: dict[str, str] = {}
        self._listed: dict[str, Listed] = {}
        self._now: SessionsNow | None = None

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
        stamps = log_stamps(store)
        left = await self._read_all(store) if stamps is None else await self._read_changed(store, stamps, at_most)
        if self._now is None:
            sessions = tuple(sorted(self._listed.values(), key=lambda one: (one.updated_at, one.id), reverse=True))
            listing = Listing(sessions, len(sessions), tuple(sorted(self._damaged.items())))
            self._now = SessionsNow(listing, pending=pending_of(self._heads.values()))
        return msgspec.structs.replace(self._now, driven=await _driven(store, self._now.listing.sessions), left=left)

    async def _read_all(self, store: LogStore) -> int:
        found = await store.heads()
        self._now = None
        self._heads, self._damaged, self._listed = {}, dict(found.damaged), {}
        for head in found.heads:
            self._keep(head.id, head)
        return 0

    async def _read_changed(self, store: LogStore, stamps: dict[str, tuple[int, ...]], at_most: int) -> int:
        for gone in self._stamps.keys() - stamps.keys():
            self._forget(gone)
            del self._stamps[gone]
        changed = [one for one, stamp in stamps.items() if self._stamps.get(one) != stamp]
        for session_id in nlargest(at_most, changed, key=stamps.__getitem__):
            self._forget(session_id)
            self._stamps[session_id] = stamps[session_id]
            try:
                self._keep(session_id, await store.head(session_id))
            except StorageError as error:
                self._damaged[session_id] = error.detail
        return max(len(changed) - at_most, 0)

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


async def _driven(store: LogStore, sessions: Sequence[Listed]) -> dict[str, str]:
    driven = {}
    for session in islice((one for one in sessions if one.status == "in-progress"), _ASKED):
        try:
            owner = await store.owner(session.id)
        except StorageError:
            continue  # it was removed meanwhile, or its folder is closed: the list says what can be said
        if owner is not None:
            driven[session.id] = owner.describe()
    return driven


def check_still_there(flag: str | None) -> None:
    """Makes sure that a store that was there still is. One that is taken away under a reader looks like an empty one.

    Args:
        flag: as ``--store`` says it.

    Raises:
        StorageError: it is gone.
    """
    place = locate_store(flag)
    path = place.folder / "sessions" if place.folder is not None else place.file
    if path is not None and not path.exists():
        raise StorageError(f"the store is gone: {path}")


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
