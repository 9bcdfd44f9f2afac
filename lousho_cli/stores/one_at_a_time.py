"""What stores over somebody else's object need: its methods may be async or not, and a key is changed by one at a time."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any
from weakref import WeakValueDictionary


async def outcome(value: Any) -> Any:
    """What a call gave, awaited where it has to be."""
    return await value if inspect.isawaitable(value) else value


class KeyLocks:
    """A lock for each key, kept while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: str) -> asyncio.Lock:
        """The lock of a key, to be entered with ``async with``."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock
