"""Checkpoints in KV: the newest under the session's own key, the history under one key for its index and one an entry.

    <prefix><id>                        the newest checkpoint
    <prefix><id>#history                the ids of its kept saves, oldest first
    <prefix><id>#history/<entry>        one save

A save writes the checkpoint, the entry, the index, and then deletes what it dropped, so that dying
between two of these leaves a session that loads and at worst one entry that no index names.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec

from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT, check_history_limit
from lousho_cli.core.stored import checkpoint_of_text, checkpoint_text, entry_of_text, entry_text
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.times import stamp
from lousho_cli.ports.clock import Clock
from lousho_cli.stores.kv.checks import HISTORY, check_ttl_seconds, key_of
from lousho_cli.stores.kv.namespace import Keys, check_size

_TIME_DIGITS = 15
_RANDOM_DIGITS = 12
_ROOM = len(f"{HISTORY}/-") + _TIME_DIGITS + _RANDOM_DIGITS
_AT_ONCE = 6  # as many entries are read at a time; a Worker may hold no more connections


class KVCheckpointStore:
    """Checkpoints in a KV namespace, with a history of the newest ``history_limit`` saves.

    KV has no transactions and shows a write elsewhere after a while: of two saves of one session at once, one may be
    missing from the history, and an entry may be missing for some time at another place. Loading never fails for it.
    Each save costs one get and two puts more than with ``history_limit=0``, which touches the session's key alone.

    Args:
        namespace: ``CloudflareKV``, or any object with ``get``, ``put`` and ``delete``, as ``kv.namespace`` has them.
        prefix: what every key begins with.
        history_limit: how many saves of a session are kept, 0 for none.
        ttl_seconds: how long all that belongs to a session lives after its newest save; 60 or more, None for ever.
        clock: for entry ids and waits; the system's when not given.

    Raises:
        RangeError: a limit or a time that makes no sense.
        ConfigurationError: the namespace lacks a method.
    """

    def __init__(
        self,
        namespace: Any,
        prefix: str = "",
        history_limit: int = DEFAULT_HISTORY_LIMIT,
        ttl_seconds: int | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.history_limit = check_history_limit(history_limit)
        self._ttl = check_ttl_seconds(ttl_seconds)
        self._prefix = prefix
        self._keys = Keys(namespace, clock)
        self._clock = clock

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Replaces the session's checkpoint and adds it to the history. A busy namespace is waited for.

        Raises:
            StorageError: it could not be written; code LOUSHO_CHECKPOINT_TOO_LARGE, with nothing sent, past 25 MiB.
            ConfigurationError: KV takes no such session id.
        """
        key = self._key(session_id)
        text = check_size(checkpoint_text(checkpoint), f"the checkpoint of session {session_id}")
        if not self.history_limit:
            await self._keys.put(key, text, self._ttl)
            return
        entry = check_size(entry_text(checkpoint, self._now()), f"the checkpoint of session {session_id}")
        await self._keys.put(key, text, self._ttl)
        new = self._entry_id()
        await self._keys.put(_entry_key(key, new), entry, self._ttl)
        entries = [*_index(await self._keys.get(key + HISTORY)), new]
        kept = entries[-self.history_limit :]
        await self._keys.put(key + HISTORY, encode_value(kept).decode(), self._ttl)
        for dropped in entries[: -self.history_limit]:
            await self._keys.delete(_entry_key(key, dropped))

    async def load(self, session_id: str) -> Checkpoint | None:
        """The newest checkpoint, None for an unknown session.

        Raises:
            StorageError: the namespace failed, or what is there is none.
        """
        key = self._key(session_id)
        text = await self._keys.get(key)
        return None if text is None else checkpoint_of_text(text, key)

    async def delete(self, session_id: str, *, keep_history: bool = False) -> None:
        """Removes the checkpoint and, unless told otherwise, its history. An unknown session is no error."""
        key = self._key(session_id)
        await self._keys.delete(key)
        if keep_history:
            return
        for entry in _index(await self._keys.get(key + HISTORY)):
            await self._keys.delete(_entry_key(key, entry))
        await self._keys.delete(key + HISTORY)  # last, so that whoever is cut can find the rest again

    async def history(self, session_id: str, limit: int | None = None) -> list[CheckpointHistoryEntry]:
        """The kept saves, newest first. An entry that is missing or can not be read is passed over; a broken index is none."""
        found: list[CheckpointHistoryEntry] = []
        if limit is not None and limit <= 0:
            return found
        async for entry in self._newest_first(self._key(session_id)):
            found.append(entry)
            if len(found) == limit:
                break
        return found

    async def _newest_first(self, key: str) -> AsyncIterator[CheckpointHistoryEntry]:
        entries = _index(await self._keys.get(key + HISTORY))[::-1]
        for start in range(0, len(entries), _AT_ONCE):
            names = [_entry_key(key, entry) for entry in entries[start : start + _AT_ONCE]]
            for text in await asyncio.gather(*map(self._keys.get, names)):
                entry = entry_of_text(text)
                if entry is not None:
                    yield entry

    async def ids(self, beginning: str = "") -> list[str]:
        """The ids of the sessions that begin so, where the namespace can list its keys.

        Raises:
            ConfigurationError: it can not.
            StorageError: it failed.
        """
        names = await self._keys.list(self._prefix + beginning)
        return [name.removeprefix(self._prefix) for name in names if HISTORY not in name]

    def _key(self, session_id: str) -> str:
        return key_of(self._prefix, session_id, "session_id", _ROOM)

    def _now(self) -> str:
        return self._clock.now() if self._clock is not None else stamp(datetime.now(UTC))

    def _entry_id(self) -> str:
        ms = self._clock.now_ms() if self._clock is not None else time.time_ns() // 1_000_000
        return f"{ms:0{_TIME_DIGITS}}-{uuid4().hex[:_RANDOM_DIGITS]}"


def _entry_key(key: str, entry: str) -> str:
    return f"{key}{HISTORY}/{entry}"


def _index(text: str | bytes | None) -> list[str]:
    """The entry ids of an index, oldest first; a missing or broken one has none."""
    try:
        return [] if text is None else msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, ValueError, TypeError):  # the last for a namespace that gives no text back
        return []
