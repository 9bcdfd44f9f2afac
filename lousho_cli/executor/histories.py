"""The ring of any store that keeps one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lousho_cli.domain.checkpoint import CheckpointHistoryEntry
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.errors import StorageError


async def get_checkpoint_history(store: Any, session_id: str, limit: int | None = None) -> list[CheckpointHistoryEntry] | None:
    """The kept checkpoints of a session, newest first; [] for an unknown one.

    Args:
        limit: at most so many, None for all.

    Returns:
        None when the store keeps no history.
    """
    history = getattr(store, "history", None)
    if history is None:
        return None
    entries: Sequence[Any] = await (history(session_id) if limit is None else history(session_id, limit))
    return [_entry(value) for value in entries]


def _entry(value: Any) -> CheckpointHistoryEntry:
    if isinstance(value, CheckpointHistoryEntry):
        return value
    try:
        fields = value if isinstance(value, dict) else {name: getattr(value, name) for name in ("step", "saved_at", "status", "checkpoint")}
        checkpoint = checkpoint_from(fields["checkpoint"])
        return CheckpointHistoryEntry(
            step=fields.get("step", checkpoint.step_index),
            saved_at=fields["saved_at"],
            status=fields.get("status") or "in-progress",
            checkpoint=checkpoint,
        )
    except (KeyError, AttributeError, msgspec.ValidationError) as error:
        raise StorageError(f"a history entry of the store is not readable: {error}") from error
