"""A pause on an approval store that is not the log's own: stored there first, then marked here.

Dying in between leaves a session in progress whose resume gates the call again under a new id.
"""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.core.snapshots import pending_of, snapshot_of
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.checkpoints import ApprovalStore


class Pauses:
    """Where pauses of a run are kept.

    Args:
        approvals: the caller's approval store, None when a gated call has nowhere to wait.
        native: it is a view of the very log that is driven, so the log's record is the approval.
        session_id: what the snapshot names, None for a run nobody can find again.
    """

    def __init__(self, agent: Agent, approvals: ApprovalStore | None, *, native: bool, session_id: str | None) -> None:
        self._agent, self._approvals = agent, approvals
        self._native, self._session_id = native, session_id

    async def write(self, log: DrivenLog, batches: Sequence[r.Batch]) -> None:
        """Writes the batches a session comes to rest with; a pause among them is stored with its approval store first."""
        at = None if self._native else _place_of_pause(batches)
        if at is None:
            await log.write(batches)
            return
        async with log.holding():
            await log.write(batches[:at], held=True)
            await self._save(log, next(record.approval for record in batches[at].records if isinstance(record, r.WaitOpened)))
            await log.write(batches[at:], held=True)

    async def _save(self, log: DrivenLog, pending: PendingApproval) -> None:
        if self._approvals is None:
            raise ConfigurationError(
                "a call needs approval and there is nowhere to wait for it",
                code="LOUSHO_APPROVAL_STORE_MISSING",
                field="approval_store",
                hint="Pass approval_store, for instance memory_store().approvals.",
            )
        named = pending_of(pending, self._session_id)
        await self._approvals.save(named, snapshot_of(log.session, named, self._session_id, self._agent))


def _place_of_pause(batches: Sequence[r.Batch]) -> int | None:
    for at, batch in enumerate(batches):
        if r.WaitOpened in map(type, batch.records):
            return at
    return None
