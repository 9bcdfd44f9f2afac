"""How a worker asks its store for work: for no more than it has room for, the seldomer the slower the store answers, and less and less
often while it fails. One that is away when the worker begins, as both may have been started together, is waited for, up to a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from statistics import median
from typing import Any

from lousho_cli.app.worked import StoreTimes
from lousho_cli.domain.heads import Head
from lousho_cli.errors import StorageError
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore

LOOK_EVERY_S = 3.0
"""How often an idle worker asks where nobody tells it of work: what a word that was lost costs."""

_LEAST_S, _IN_VAIN_S = 0.1, 1.0
"""How soon an idle worker asks again when it is told of work: less and less soon while others are quicker each time, so that a word
that goes to very many has not all of them ask.
"""

_MOST_S, _SHARE = 3.0, 10
"""An answer that took long is not asked for again in ``_SHARE`` times as long."""

_FIRST_S, _LONGEST_S = 0.5, 30.0
"""Pauses while the store can not be read: they grow from one to the other."""

_NOT_YET_S = 5.0
"""The longest pause while it could not be read at all."""

_KEPT, _SOME = 10_000, 100


class Asking:
    """What is asked of one store.

    Args:
        say: is told, once each, that the store can not be read and that it can again; while it is waited for, at each try.
        wait_s: how long a store that is away is waited for to begin with.

    Attributes:
        answered: whether it could be read at all.
    """

    def __init__(self, store: LogStore, clock: Clock, say: Callable[[str], None], wait_s: float = 0.0) -> None:
        self._store, self._clock, self._say = store, clock, say
        self._waits_until = clock.monotonic() + wait_s
        self._took: list[float] = []
        self._last_s = 0.0
        self._asked_at = clock.monotonic()
        self._least_s = _LEAST_S
        self.answered = self._told = False
        self._failures = 0

    async def some(self, room: int, without: Collection[str], strange: Collection[str] = ()) -> tuple[Head, ...]:
        """What is pending, no more than there is ``room`` for; see ``Index.pending`` for the others.

        Raises:
            StorageError: the store can not be read to begin with, and is not away, or was waited for long enough. Later that gives
                nothing, as it does while it is waited for.
        """
        rested_s = self._clock.monotonic() - self._asked_at
        await self._clock.sleep(max(min(self._last_s, _MOST_S) - rested_s, 0.0))  # so that asking takes half of the time at most
        try:
            found = await self._timed(self._store.pending(room, self._clock.now(), without, strange))
        except StorageError as error:
            if not self.answered:
                self._is_waited_for(error)
            elif not self._failures:
                self._say(f"the store can not be read now: {error}")
            self._failures += 1
            self._last_s = 0.0  # it was waited for already, and the pauses grow by themselves
            return ()
        if self._failures:
            self._failures = 0
            self._say("the store can be read again" if self.answered else "the store can be read now")
        self.answered = True
        self._least_s = _LEAST_S if found else min(self._least_s * 2, _IN_VAIN_S) if self._told else self._least_s
        self._told = False
        return tuple(found)

    def _is_waited_for(self, error: StorageError) -> None:
        left_s = self._waits_until - self._clock.monotonic()
        if not error.retryable or left_s <= 0:
            raise error
        self._say(f"the store is not there yet, and is waited for {max(left_s, 1):.0f} s more: {error.detail}")

    async def held_back(self, until: str, without: Collection[str]) -> tuple[Head, ...]:
        """Some of what will be pending at a time, if nobody does anything about it. Raises like the store."""
        return await self._store.pending(_SOME, until, without)

    async def more(self) -> None:
        """Waits until it is worth asking again. Several workers do not come back together."""
        jitter = 0.75 + self._clock.chance() / 2
        if self._failures:
            pause_s = jitter * min(_FIRST_S * 2 ** min(self._failures - 1, 10), _LONGEST_S)
            if not self.answered:
                pause_s = min(pause_s, _NOT_YET_S, max(self._waits_until - self._clock.monotonic(), 0.0))
            await self._clock.sleep(pause_s)
            return
        soonest = self._asked_at + min(max(self._least_s, self._last_s * _SHARE), _MOST_S)
        self._told = await self._store.wait_for_work(int(jitter * LOOK_EVERY_S * 1000))
        await self._clock.sleep(max(soonest - self._clock.monotonic(), 0.0))

    async def times(self, *, ask: bool) -> StoreTimes | None:
        """How long the questions took since this was last called. Where there was none, a small one is put, if that is wanted.

        None where there was none, or it was not answered.
        """
        if not self._took and ask:
            try:
                await self._timed(self._store.lives("nobody"))
            except StorageError:
                return None
        if not self._took:
            return None
        took, self._took = self._took, []
        return StoreTimes(questions=len(took), median_ms=round(median(took) * 1000, 2), max_ms=round(max(took) * 1000, 2))

    async def _timed(self, question: Any) -> Any:
        began = self._clock.monotonic()
        try:
            answer = await question
        finally:
            self._asked_at = self._clock.monotonic()
            self._last_s = self._asked_at - began
        if len(self._took) < _KEPT:
            self._took.append(self._last_s)
        return answer
