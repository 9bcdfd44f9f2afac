"""Checkpoints and approvals as plain JSON files, in the layout of the original product, which this reads too.

    <dir>/checkpoints/<id>.json             the newest checkpoint
    <dir>/checkpoint-history/<id>.json      its kept saves as one list, oldest first
    <dir>/approvals/<id>.json               a pause; <id>.json.claim while somebody takes it

For an agent folder of Agent Forge, ``dir`` is ``.lousho/agents/<agent>``. This is a plain store: one
run of a session at a time, and the whole transcript is written at each save. ``FileStore`` keeps logs instead.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime

from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT, check_history_limit
from lousho_cli.core.session_ids import check_approval_id, check_file_id
from lousho_cli.core.stored import approval_of_text, approval_text, checkpoint_of_text, checkpoint_text, newest, ring_of_text, ring_text
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, StoredApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.times import stamp
from lousho_cli.errors import StorageError
from lousho_cli.stores.json_files import JsonFiles, in_thread
from lousho_cli.stores.one_at_a_time import KeyLocks

log_to = logging.getLogger("lousho")


class FileCheckpointStore:
    """Checkpoints in the folder ``dir``, with a history of the newest ``history_limit`` saves.

    Session ids are 1 to 200 letters, digits, ``.``, ``_`` and ``-``, not starting with ``.``.

    Args:
        dir: the folder; the first save makes it.
        history_limit: how many saves of a session are kept, 0 for none.

    Raises:
        RangeError: the limit is no whole number from 0.
    """

    def __init__(self, dir: str | os.PathLike[str], history_limit: int = DEFAULT_HISTORY_LIMIT) -> None:
        self.history_limit = check_history_limit(history_limit)
        self._checkpoints, self._rings = JsonFiles(dir, "checkpoints"), JsonFiles(dir, "checkpoint-history")
        self._locks = KeyLocks()

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Replaces the session's checkpoint, then its history; each is there after power loss once this returns.

        Raises:
            StorageError: a file could not be written.
            ConfigurationError: the session id is none.
        """
        check_file_id(session_id)
        text = checkpoint_text(checkpoint)

        def write() -> None:
            self._checkpoints.replace(session_id, text)
            if self.history_limit:
                ring = ring_of_text(self._rings.read(session_id))
                self._rings.replace(session_id, ring_text(ring, checkpoint, stamp(datetime.now(UTC)), self.history_limit))

        async with self._locks.of(session_id):
            await in_thread(write)

    async def load(self, session_id: str) -> Checkpoint | None:
        """The newest checkpoint, None for an unknown session.

        Raises:
            StorageError: its file can not be read, or holds no checkpoint; the error names the file.
        """
        check_file_id(session_id)

        def read() -> Checkpoint | None:
            raw = self._checkpoints.read(session_id)
            return None if raw is None else checkpoint_of_text(raw, self._checkpoints.find(session_id))

        return await in_thread(read)

    async def delete(self, session_id: str, *, keep_history: bool = False) -> None:
        """Removes the checkpoint and, unless told otherwise, its history. An unknown session is no error."""
        check_file_id(session_id)

        def remove() -> None:
            self._checkpoints.remove(session_id)
            if not keep_history:
                self._rings.remove(session_id)

        async with self._locks.of(session_id):
            await in_thread(remove)

    async def history(self, session_id: str, limit: int | None = None) -> list[CheckpointHistoryEntry]:
        """The kept saves, newest first; a damaged history is none, and the next save begins it anew."""
        check_file_id(session_id)
        return await in_thread(lambda: newest(ring_of_text(self._rings.read(session_id)), limit))


class FileApprovalStore:
    """Approvals in the folder ``dir``. Whoever asks at once, of any process here exactly one gets a pause.

    A process that dies while it takes one leaves its claim, and the pause counts as taken; saving it again opens it again.

    Args:
        dir: the folder; the first save makes it.
    """

    def __init__(self, dir: str | os.PathLike[str]) -> None:
        self._files = JsonFiles(dir, "approvals")
        self._locks = KeyLocks()

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        """Stores a pause, or opens one again that was taken.

        Raises:
            StorageError: it could not be written.
            ConfigurationError: its id can not name a file.
        """
        name, text = check_approval_id(pending.id), approval_text(pending, snapshot)

        def write() -> None:
            self._files.replace(name, text)
            self._files.drop_claim(name)

        async with self._locks.of(name):
            await in_thread(write)

    async def load(self, approval_id: str) -> StoredApproval | None:
        """The pause, without taking it; None when unknown or taken.

        Raises:
            StorageError: its file can not be read, or holds none; the error names the file.
        """
        check_approval_id(approval_id)
        return await in_thread(lambda: None if self._files.is_claimed(approval_id) else self._read(approval_id))

    async def resolve(self, approval_id: str) -> StoredApproval | None:
        """Takes the pause: exactly one caller gets it. Raises like ``load``; what can not be read is not taken."""
        check_approval_id(approval_id)

        def take() -> StoredApproval | None:
            if not self._files.take_claim(approval_id):
                return None
            try:
                found = self._read(approval_id)
                if found is not None:
                    self._files.remove(approval_id)
                return found
            finally:
                self._files.drop_claim(approval_id)

        async with self._locks.of(approval_id):
            return await in_thread(take)

    async def list(self) -> list[PendingApproval]:
        """Everything that waits, oldest first. What can not be read is left out with a warning that names its file."""
        return await in_thread(lambda: _waiting_in(self._files))

    def _read(self, approval_id: str) -> StoredApproval | None:
        raw = self._files.read(approval_id)
        return None if raw is None else approval_of_text(raw, self._files.find(approval_id))


def _waiting_in(files: JsonFiles) -> list[PendingApproval]:
    names = files.names()
    found = []
    for name in names:
        if not name.endswith(".json") or name.startswith(".") or f"{name}.claim" in names:
            continue
        path = files.folder / name
        try:
            found.append(approval_of_text(path.read_bytes(), str(path)).pending)
        except FileNotFoundError:
            continue  # somebody took it just now
        except (StorageError, OSError) as error:
            log_to.warning("%s is left out: %s", path, error)
    return sorted(found, key=lambda pending: pending.created_at)
