"""Wakes a thread at a time while this host has it open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lousho_cli.domain.times import ms_between
from lousho_cli.ports.clock import Clock

LONGEST_SLEEP_S = 86_400.0
"""What is further off is looked at again once a day: no timer takes any length."""


class Alarm:
    """That of one thread; it has one time at most."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock, self._ring = clock, ring
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self._timer is not None

    def set(self, at: str) -> None:
        """Rings at a time (UTC, ISO 8601), at once where it has come, and not at the one set before."""
        self.cancel()
        seconds = max(ms_between(self._clock.now(), at), 0) / 1000
        self._timer = asyncio.get_running_loop().call_later(min(seconds, LONGEST_SLEEP_S), self._rings)

    def _rings(self) -> None:
        self._timer = None
        self._ring()

    def cancel(self) -> None:
        """Rings no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
