"""How a store that has no index of its work finds some: it looks at all heads, now and then, and gives away what it found one by one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection
from typing import Protocol

from lousho_cli.core.pending import in_turn, lane_of
from lousho_cli.domain.heads import Head
from lousho_cli.ports.undriven import Looked, with_work

_LOOK_EVERY_S, _LOOK_AT_MOST_S, _SHARE = 0.1, 5.0, 10
"""How often all heads are looked at: so seldom that it takes at most one part in ``_SHARE`` of the time."""


class Work:
    """What one store object found when it last looked, and whose turn was last."""

    def __init__(self) -> None:
        self._found: deque[Head] = deque()
        self._last: str | None = None
        self._looked_at = self._pace_s = 0.0

    async def pending(self, store: Looked, limit: int, now: str, without: Collection[str], strange: Collection[str]) -> tuple[Head, ...]:
        """See ``Index.pending``."""
        given = await self._given(store, limit, without, strange) if self._is_fresh() else []
        if not given and limit > 0:
            await self._look(store, now)
            given = await self._given(store, limit, without, strange)
        return tuple(given)

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._looked_at < self._pace_s

    async def _look(self, store: Looked, now: str) -> None:
        began = time.monotonic()
        self._found = deque(in_turn(await with_work(store, now), self._last))
        self._looked_at = time.monotonic()
        self._pace_s = min(max(_LOOK_EVERY_S, (self._looked_at - began) * _SHARE), _LOOK_AT_MOST_S)

    async def _given(self, store: Looked, limit: int, without: Collection[str], strange: Collection[str]) -> list[Head]:
        """What is still as it was found; what was not given stays for the next who asks."""
        given: list[Head] = []
        while self._found and len(given) < limit:
            head = self._found.popleft()
            if head.id in without or head.agent in strange or await store.owner(head.id) is not None:
                continue
            now = await store.head(head.id)
            if now is not None and now.seq == head.seq:
                given.append(head)
                self._last = lane_of(head)
        return given

    async def wait(self, timeout_ms: int) -> bool:
        """See ``Index.wait_for_work``. Nobody tells of work here, so it waits until all heads may be looked at again."""
        import asyncio

        left_s = max(self._looked_at + self._pace_s - time.monotonic(), 0.0)
        await asyncio.sleep(min(left_s, timeout_ms / 1000))
        return False


class _Looks(Looked, Protocol):
    _work: Work


class Looking:
    """A log store that finds work so. ``_work`` is what it knows of that."""

    _work: Work

    async def pending(self: _Looks, limit: int, now: str, without: Collection[str] = (), strange: Collection[str] = ()) -> tuple[Head, ...]:
        return await self._work.pending(self, limit, now, without, strange)

    async def wait_for_work(self: _Looks, timeout_ms: int) -> bool:
        return await self._work.wait(timeout_ms)
