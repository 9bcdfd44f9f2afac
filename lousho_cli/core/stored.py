"""What a plain store keeps, as JSON text and back: a checkpoint, a ring of history entries, a pause.

What is read may have been written by the original product. A checkpoint or a pause that can not be
read is an error that names its place; a ring that can not be read is none, and a bad entry is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec

from lousho_cli.core.originals import approval_from
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, StoredApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.codec import checkpoint_from, encode_value
from lousho_cli.domain.originals import entry_from_original, is_original
from lousho_cli.errors import StorageError

_BAD = (msgspec.MsgspecError, ValueError, TypeError, RecursionError, StorageError)
"""TypeError: somebody's storage may give something else back than the text it got."""


class _Entry(msgspec.Struct, frozen=True, gc=False):
    step: int
    saved_at: str
    status: str
    checkpoint: Checkpoint


class _Pause(msgspec.Struct, frozen=True, gc=False):
    pending: PendingApproval
    snapshot: ExecutionSnapshot


def checkpoint_text(checkpoint: Any) -> str:
    """A checkpoint, or the dictionary of one, as JSON text.

    Raises:
        StorageError: it is none, or holds what JSON can not.
    """
    return _text(checkpoint_from(checkpoint), "checkpoint")


def checkpoint_of_text(text: str | bytes, place: str) -> Checkpoint:
    """The checkpoint that was stored. ``place`` is the file or key, for the error.

    Raises:
        StorageError: it can not be read.
    """
    try:
        return checkpoint_from(msgspec.json.decode(text))
    except _BAD as error:
        raise _unreadable("checkpoint", place, error) from error


def entry_text(checkpoint: Any, saved_at: str) -> str:
    """The history entry of a save as JSON text. Raises like ``checkpoint_text``."""
    saved = checkpoint_from(checkpoint)
    return _text(_Entry(saved.step_index, saved_at, saved.status, saved), "checkpoint")


def entry_of(value: Any) -> CheckpointHistoryEntry:
    """A history entry from whatever a store gives: one, a dictionary, an object with its fields.

    Raises:
        StorageError: it is none.
    """
    if isinstance(value, CheckpointHistoryEntry):
        return value
    try:
        if is_original(value):
            return entry_from_original(value)
        fields = value if isinstance(value, Mapping) else {name: getattr(value, name) for name in _Entry.__struct_fields__}
        checkpoint = checkpoint_from(fields["checkpoint"])
        same = {"step": fields.get("step", checkpoint.step_index), "status": fields.get("status") or "in-progress"}
        return msgspec.convert({**same, "saved_at": fields["saved_at"], "checkpoint": checkpoint}, CheckpointHistoryEntry)
    except (KeyError, AttributeError, msgspec.ValidationError) as error:
        raise StorageError(f"a history entry of the store is not readable: {error}") from error


def entry_of_text(text: str | bytes | None) -> CheckpointHistoryEntry | None:
    """The history entry that was stored; None for what is missing or can not be read."""
    try:
        return None if text is None else entry_of(msgspec.json.decode(text))
    except _BAD:
        return None


Ring = list[msgspec.Raw]
"""The entries of a session kept in one text, oldest first, each as it was stored."""


def ring_of_text(text: str | bytes | None) -> Ring:
    """The entries of a stored ring; none of a missing or damaged one."""
    try:
        return [] if text is None else msgspec.json.decode(text, type=Ring)
    except _BAD:
        return []


def ring_text(ring: Ring, checkpoint: Any, saved_at: str, limit: int) -> str:
    """A ring with one more entry, without the oldest past ``limit``, as JSON text."""
    entry = msgspec.Raw(entry_text(checkpoint, saved_at).encode())
    return encode_value([*ring, entry][-limit:]).decode()


def newest(ring: Ring, limit: int | None) -> list[CheckpointHistoryEntry]:
    """The readable entries of a ring, newest first; at most ``limit`` where given."""
    readable = (entry for raw in reversed(ring) if (entry := entry_of_text(bytes(raw))) is not None)
    return list(islice(readable, None if limit is None else max(limit, 0)))


def approval_text(pending: PendingApproval, snapshot: ExecutionSnapshot) -> str:
    """A pause as JSON text. Raises like ``checkpoint_text``."""
    return _text(_Pause(pending, snapshot), "approval")


def approval_of_text(text: str | bytes, place: str) -> StoredApproval:
    """The pause that was stored. ``place`` is the file or key, for the error.

    Raises:
        StorageError: it can not be read.
    """
    try:
        return approval_from(msgspec.json.decode(text))
    except _BAD as error:
        raise _unreadable("approval", place, error) from error


def _text(value: Any, what: str) -> str:
    try:
        return encode_value(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StorageError(f"the {what} can not be stored as JSON: {error}", hint="Keep plain data in it.") from error


def _unreadable(what: str, place: str, error: Exception) -> StorageError:
    detail = error.detail if isinstance(error, StorageError) else str(error)
    return StorageError(f"the {what} in {place} can not be read: {detail}", hint="Put a copy of it back, or delete it to start over.")
