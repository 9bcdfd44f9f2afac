"""Sessions of a store that keeps checkpoints, for who looks at logs: each as a log that begins with what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lousho_cli.core.checkpoints import state_of_checkpoint
from lousho_cli.core.heads import head_of
from lousho_cli.core.rings import state_of_ring
from lousho_cli.core.session_ids import is_session_id
from lousho_cli.core.states import session_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.domain.heads import Head
from lousho_cli.domain.state import State
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.ports.log_store import Heads, LogRead


class Kept(msgspec.Struct, frozen=True):
    """Where checkpoints are, with ``ids`` and ``history`` where it has them, and the approvals beside them, with ``load``."""

    checkpoints: Any
    approvals: Any = None


class PlainSessions:
    """Several such places as one. A session is in the first that has it."""

    def __init__(self, places: Sequence[Kept]) -> None:
        self._places = tuple(places)

    async def checkpoints_of(self, session_id: str) -> Any:
        """The checkpoint store that a session is in; the first of all for one that is in none."""
        found = await self._find(session_id)
        return (found[0] if found is not None else self._places[0]).checkpoints

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        """A log of one batch: the state, its ring included. An unknown one is empty.

        Raises:
            StorageError: it can not be read.
        """
        found = await self._find(log_id)
        if found is None:
            return LogRead()
        place, latest = found
        entries = await get_checkpoint_history(place.checkpoints, log_id) or []
        base = r.Base(state_of_ring(entries[::-1], latest, await _wait(place, latest)))
        batch = r.Batch(1, 1, entries[0].saved_at if entries else "", (base,))
        return LogRead((batch,) if after < 1 else (), 1, 1)

    async def load_snapshot(self, log_id: str) -> State | None:
        """None: what is kept is all there is."""
        return None

    async def head(self, log_id: str) -> Head | None:
        """The head of what a session's checkpoint says; of one whose ring alone is kept, its id."""
        found = await self._find(log_id)
        if found is None:
            return None
        place, latest = found
        known = head_of(session_from(state_of_checkpoint(latest, await _wait(place, latest)))) if latest else Head()
        return msgspec.structs.replace(known, id=log_id, seq=1)

    async def heads(self) -> Heads:
        """The ids of all sessions that a command line can name, where the places can list them; nothing else is read."""
        found: set[str] = set()
        for place in self._places:
            if hasattr(place.checkpoints, "ids"):
                found.update(filter(is_session_id, await place.checkpoints.ids()))
        return Heads(tuple(Head(id=session_id) for session_id in sorted(found)))

    async def _find(self, session_id: str) -> tuple[Kept, Checkpoint | None] | None:
        for place in self._places:
            stored = await place.checkpoints.load(session_id)
            if stored is not None:
                return place, checkpoint_from(stored)
            if await get_checkpoint_history(place.checkpoints, session_id, 1):
                return place, None
        return None


async def _wait(place: Kept, checkpoint: Checkpoint | None) -> PendingApproval | None:
    """What a session waits for, where that is still there."""
    if checkpoint is None or checkpoint.approval_id is None or place.approvals is None:
        return None
    stored = await place.approvals.load(checkpoint.approval_id)
    pending: PendingApproval | None = stored.pending if stored is not None else None
    return pending
