"""The two plain store contracts, which anybody may implement with a few methods.

A log store offers both as views (``.checkpoints``, ``.approvals``); the view carries its
store as ``log_store``, and the executor then drives that log. Any other object is wrapped.
"""

from __future__ import annotations

from typing import Any, Protocol

from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint


class CheckpointStore(Protocol):
    """Three methods; ``history`` and the keyword ``keep_history`` of ``delete`` are optional.

    ``history(session_id, limit=None)`` gives entries of step, saved_at, status and checkpoint, newest
    first, [] for an unknown session.
    """

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Replaces the session's checkpoint."""

    async def load(self, session_id: str) -> Checkpoint | dict[str, Any] | None:
        """The newest checkpoint, or None."""

    async def delete(self, session_id: str) -> None:
        """Removes it; an unknown id is no error."""


class ApprovalStore(Protocol):
    """Two methods; ``load`` (peek) and ``list`` are optional."""

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        """Stores a pause. Saving a taken one again opens it again."""

    async def resolve(self, approval_id: str) -> Any | None:
        """Gives pending and snapshot once and never again; None when unknown or taken."""
