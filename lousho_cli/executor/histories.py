"""The ring of any store that keeps one."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

from lousho_cli.core.stored import entry_of
from lousho_cli.domain.checkpoint import CheckpointHistoryEntry
from lousho_cli.executor.given_stores import checkpoint_store_of


async def get_checkpoint_history(store: Any, session_id: str, limit: int | None = None) -> list[CheckpointHistoryEntry] | None:
    """The kept checkpoints of a session, newest first; [] for an unknown one.

    Args:
        limit: at most so many, None for all.

    Returns:
        None when the store keeps no history.

    Raises:
        ConfigurationError: it is no store of checkpoints.
    """
    history = getattr(store, "history", None)
    if history is None:
        checkpoint_store_of(store)  # a whole store in place of its checkpoints has none either
        return None
    given = history(session_id) if limit is None else history(session_id, limit)
    entries: Sequence[Any] | None = await given if isawaitable(given) else given
    # Somebody else's may have nothing for a session it does not know, and give more than it was asked for.
    return [entry_of(value) for value in (entries or ())[: None if limit is None else max(limit, 0)]]
