"""The system's time, chance and ids behind the ``Clock`` port."""

from __future__ import annotations

import random
import time
import uuid


class SystemClock:
    """The real clock. One instance serves everybody."""

    def __init__(self) -> None:
        self._second = self._ms = -1
        self._prefix = self._now = ""

    def now(self) -> str:
        ms = time.time_ns() // 1_000_000
        if ms == self._ms:
            return self._now  # many sessions ask within one
        second = ms // 1000
        if second != self._second:
            # Formatting the date is most of the cost, and it changes once a second.
            self._second, self._prefix = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        self._ms, self._now = ms, f"{self._prefix}.{ms % 1000:03d}Z"
        return self._now

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio  # what only reads the time does not wait for it

        await asyncio.sleep(seconds)

    def new_id(self) -> str:
        return uuid.uuid4().hex[:12]

    def chance(self) -> float:
        return random.random()  # noqa: S311 - spreads retries, guards nothing


SYSTEM_CLOCK = SystemClock()
