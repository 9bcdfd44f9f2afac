"""Checkpoints and approvals in any object that gets, sets and removes text by key.

Such an object has ``get(key)`` (None for a key that is not there), ``set(key, value)`` and
``remove(key)``, each sync or async. A session is ``checkpoints/<id>.json`` and
``checkpoint-history/<id>.json``, the newest entries of its history as one list, oldest first; an
approval is ``approvals/<id>.json``. Within one store a key is changed by one at a time, so no history
entry is lost and no approval given away twice; between processes that is the storage's own matter.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT, check_history_limit
from lousho_cli.core.session_ids import check_approval_id, check_file_id
from lousho_cli.core.stored import approval_of_text, approval_text, checkpoint_of_text, checkpoint_text, newest, ring_of_text, ring_text
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, StoredApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.times import stamp
from lousho_cli.errors import ConfigurationError, SDKError, StorageError
from lousho_cli.stores.one_at_a_time import KeyLocks, outcome


class _Storage:
    """The caller's object, awaited where it has to be, its errors as ours."""

    def __init__(self, storage: Any) -> None:
        missing = [name for name in ("get", "set", "remove") if not callable(getattr(storage, name, None))]
        if missing:
            raise ConfigurationError(
                f"the storage has no {' and no '.join(missing)}",
                field="storage",
                hint="Give an object with get(key), set(key, value) and remove(key); each may be async.",
            )
        self._storage = storage
        self.locks = KeyLocks()

    async def get(self, key: str) -> str | bytes | None:
        value: str | bytes | None = await self._call("get", key)
        return value

    async def set(self, key: str, text: str) -> None:
        await self._call("set", key, text)

    async def remove(self, key: str) -> None:
        await self._call("remove", key)

    async def _call(self, name: str, key: str, *value: str) -> Any:
        try:
            return await outcome(getattr(self._storage, name)(key, *value))
        except SDKError:
            raise
        except Exception as error:
            raise StorageError(f"the storage could not {name} {key}: {type(error).__name__}: {error}") from error


class LocalStorageCheckpointStore:
    """Checkpoints in somebody's storage; with a history of the newest ``history_limit`` saves.

    Args:
        storage: any object with ``get``, ``set`` and ``remove``, sync or async.
        history_limit: how many saves of a session are kept, 0 for none.

    Raises:
        RangeError: the limit is no whole number from 0.
        ConfigurationError: the storage lacks a method.
    """

    def __init__(self, storage: Any, history_limit: int = DEFAULT_HISTORY_LIMIT) -> None:
        self.history_limit = check_history_limit(history_limit)
        self._storage = _Storage(storage)

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Replaces the session's checkpoint, then adds it to the history.

        Raises:
            StorageError: the storage failed.
            ConfigurationError: the session id is none.
        """
        key, ring_key = _keys(session_id)
        text = checkpoint_text(checkpoint)
        async with self._storage.locks.of(key):
            await self._storage.set(key, text)
            if self.history_limit:
                ring = ring_of_text(await self._storage.get(ring_key))
                await self._storage.set(ring_key, ring_text(ring, checkpoint, stamp(datetime.now(UTC)), self.history_limit))

    async def load(self, session_id: str) -> Checkpoint | None:
        """The newest checkpoint, None for an unknown session.

        Raises:
            StorageError: the storage failed, or what is there is none.
        """
        key, _ = _keys(session_id)
        async with self._storage.locks.of(key):
            text = await self._storage.get(key)
        return None if text is None else checkpoint_of_text(text, key)

    async def delete(self, session_id: str, *, keep_history: bool = False) -> None:
        """Removes the checkpoint and, unless told otherwise, its history. An unknown session is no error."""
        key, ring_key = _keys(session_id)
        async with self._storage.locks.of(key):
            await self._storage.remove(key)
            if not keep_history:
                await self._storage.remove(ring_key)

    async def history(self, session_id: str, limit: int | None = None) -> list[CheckpointHistoryEntry]:
        """The kept saves, newest first; a history that can not be read is none, and the next save begins it anew."""
        key, ring_key = _keys(session_id)
        async with self._storage.locks.of(key):
            text = await self._storage.get(ring_key)
        return newest(ring_of_text(text), limit)


def _keys(session_id: str) -> tuple[str, str]:
    name = check_file_id(session_id)
    return f"checkpoints/{name}.json", f"checkpoint-history/{name}.json"


class LocalStorageApprovalStore:
    """Approvals in somebody's storage. One process gives each away once; between processes the storage has no say.

    Args:
        storage: any object with ``get``, ``set`` and ``remove``, sync or async.

    Raises:
        ConfigurationError: the storage lacks a method.
    """

    def __init__(self, storage: Any) -> None:
        self._storage = _Storage(storage)

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        """Stores a pause, or opens one again that was taken.

        Raises:
            StorageError: the storage failed.
        """
        key, text = _approval_key(pending.id), approval_text(pending, snapshot)
        async with self._storage.locks.of(key):
            await self._storage.set(key, text)

    async def load(self, approval_id: str) -> StoredApproval | None:
        """The pause, without taking it; None when unknown or taken.

        Raises:
            StorageError: the storage failed, or what is there is none.
        """
        key = _approval_key(approval_id)
        async with self._storage.locks.of(key):
            text = await self._storage.get(key)
        return None if text is None else approval_of_text(text, key)

    async def resolve(self, approval_id: str) -> StoredApproval | None:
        """Takes the pause: exactly one caller of this store gets it. Raises like ``load``; what can not be read stays."""
        key = _approval_key(approval_id)
        async with self._storage.locks.of(key):
            text = await self._storage.get(key)
            if text is None:
                return None
            found = approval_of_text(text, key)
            await self._storage.remove(key)
            return found


def _approval_key(approval_id: str) -> str:
    return f"approvals/{check_approval_id(approval_id)}.json"
