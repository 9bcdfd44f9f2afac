"""One session while it is looked at: its ring, its checkpoints as documents, and searches in them. All of it made on another thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING

from lousho_cli.app.families import Member, family
from lousho_cli.app.ring import Ring, RingReader
from lousho_cli.ports.log_store import LogStore
from lousho_cli.tui.state.checkpoint_view import Seen, Tab, roots_of
from lousho_cli.tui.state.outline import Node, Outline
from lousho_cli.tui.state.search import Found, search

if TYPE_CHECKING:
    from lousho_cli.tui.reading import Reader

_KEPT = 24
"""So many tabs of checkpoints are kept, the last ones seen."""


class SessionReader:
    """Reads one session of a store.

    Args:
        reader: asks the store; what is asked here runs on its thread for sessions, one after another.
    """

    def __init__(self, reader: Reader, session_id: str) -> None:
        self.session_id = session_id
        self.choices: dict[str, bool] = {}
        self._reader = reader
        self._ring = RingReader(session_id)
        self._last: Ring | None = None
        self._known: dict[str, int | None] = {}
        self._kept: OrderedDict[tuple[str, Tab, bool, int], Sequence[Node]] = OrderedDict()

    async def ring(self) -> Ring:
        """The ring as it stands; the same value as before where nothing changed.

        Raises:
            SDKError: there is no such session, or it can not be read.
        """
        self._last = await self._reader.look(self._ring.read)
        return self._last

    async def family(self) -> tuple[Member, ...]:
        """The sessions that it was forked from and that were forked from it.

        Raises:
            SDKError: the store can not be read.
        """
        return await self._reader.look(self._family)

    async def outline(self, address: str, tab: Tab, *, raw: bool = False, wanted: Callable[[], bool] = lambda: True) -> Outline | None:
        """A tab of a checkpoint; of the session as it stands where the address names no point.

        Args:
            wanted: asked on the other thread before anything is done; where it says no, None is given.

        Raises:
            SDKError: no such checkpoint is kept.
        """
        return await self._reader.look(lambda store: self._outline(store, address, tab, raw=raw, wanted=wanted))

    async def search(self, outline: Outline, words: str, stopped: Event) -> Found:
        """Looks for words in all of a document; ``stopped`` is set once nobody wants to know any more."""
        return await self._reader.look(lambda _store: _searched(outline, words, stopped))

    async def _family(self, store: LogStore | None) -> tuple[Member, ...]:
        return await family(store, self.session_id, self._known) if store is not None else ()

    async def _outline(self, store: LogStore | None, address: str, tab: Tab, *, raw: bool, wanted: Callable[[], bool]) -> Outline | None:
        if not wanted():
            return None
        if self._last is None:
            self._last = await self._ring.read(store)
        # A kept checkpoint never changes; a session's end is another one with each record.
        key = (address, tab, raw, 0 if "@" in address else self._last.seq)
        roots = self._kept.get(key)
        if roots is None:
            roots = roots_of(self._seen(address), tab, raw=raw)
            self._kept[key] = roots
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return Outline(roots, self.choices)

    def _seen(self, address: str) -> Seen:
        assert self._last is not None
        ring = self._ring
        before = ring.before(address)
        return Seen(
            address=address,
            shown=ring.shown(address),
            before=ring.shown(before) if before is not None else None,
            records=ring.records(address),
            writing="" if "@" in address else self._last.writing,
        )


async def _searched(outline: Outline, words: str, stopped: Event) -> Found:
    return search(outline.roots, words, stopped.is_set)
