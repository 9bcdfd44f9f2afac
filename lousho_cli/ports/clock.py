"""The only door to time, chance and ids."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> str:
        """The time in UTC, ISO 8601 with milliseconds and ``Z``."""

    def now_ms(self) -> int:
        """The same as milliseconds since 1970."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Waits."""

    def new_id(self) -> str:
        """A fresh id of 12 lowercase hex digits."""

    def chance(self) -> float:
        """A number from 0 up to, not including, 1."""
