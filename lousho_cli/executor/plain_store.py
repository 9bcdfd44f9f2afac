"""Any three-method checkpoint store as a log store: the same loop runs on it.

A memory log that is rebuilt from ``load`` and calls ``save`` at each mark. What a checkpoint does
not hold is not kept: ownership between processes, input ids, input before the first save, the retry
count, and which calls had been started, so each call without a result counts as possibly started.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.checkpoints import checkpoint_at, state_of_checkpoint
from lousho_cli.core.fold import apply
from lousho_cli.core.open_turns import behind_the_transcript
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.domain.state import State
from lousho_cli.ports.checkpoints import CheckpointStore
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, Claim
from lousho_cli.stores.memory import MemoryClaim, MemoryStore

_BEFORE = 0
"""The epoch of calls that some process before this one may have started."""


class PlainStore(MemoryStore):
    """A log store for one run over somebody's checkpoint store, or over none.

    Args:
        checkpoints: where checkpoints are loaded from and saved to; None keeps the run in memory alone.
        pending: the approval the stored checkpoint waits for, where its own store still had it.
        otherwise: what to begin from where no checkpoint is stored: the snapshot of a pause.
    """

    def __init__(
        self,
        checkpoints: CheckpointStore | None,
        clock: Clock,
        *,
        pending: PendingApproval | None = None,
        otherwise: State | None = None,
    ) -> None:
        super().__init__(any_id=True)
        self._plain, self._clock = checkpoints, clock
        self._pending, self._paused = pending, otherwise
        self._otherwise: tuple[r.Record, ...] = (r.Base(otherwise),) if otherwise else ()
        self._fold = Accumulator()

    async def claim(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> MemoryClaim:
        claim = await super().claim(log_id, host, ttl_ms, renew_ms)
        if self._fold.seq == 0:
            records = await self._stored(log_id) or self._otherwise
            if records:
                base = r.Batch(1, claim.epoch, self._clock.now(), records)
                apply(self._fold, base)
                await super().append(claim, (base,))
        return claim

    async def _stored(self, log_id: str) -> tuple[r.Record, ...]:
        stored = await self._plain.load(log_id) if self._plain is not None else None
        if stored is None:
            return ()
        checkpoint = checkpoint_from(stored)
        waits = self._pending if self._pending and self._pending.id == checkpoint.approval_id else None
        begun = _BEFORE if checkpoint.status == "in-progress" and checkpoint.started is None else None
        state = state_of_checkpoint(checkpoint, waits, begun)
        if waits and waits.calls and not checkpoint.children and self._paused is not None:
            # The original product kept a sub-agent that waits in the snapshot alone, and a placeholder as its result.
            state = msgspec.structs.replace(self._paused, business_state=checkpoint.business_state)
        mark = r.Mark(checkpoint.step_index, checkpoint.status, checkpoint.finish_reason, checkpoint.approval_id)
        return (r.Base(state), mark)

    async def append(self, claim: Claim, batches: Sequence[r.Batch], *, durable: bool = True) -> None:
        for batch in batches:
            apply(self._fold, batch)
            # A batch counts once its checkpoint is saved, so that one comes first.
            if self._plain is not None and any(_marks(record) for record in batch.records):
                await self._plain.save(claim.log_id, self._checkpoint(claim.log_id))
            await super().append(claim, (batch,), durable=durable)

    def _checkpoint(self, session_id: str) -> Checkpoint:
        session = self._fold.freeze()
        assert session.latest is not None, "a mark was just folded, of the lead or behind one of the lead"
        # Between two marks of its lead only a sub-agent gets on. What a call behind a paused one gave is kept nowhere else.
        held = behind_the_transcript(session) if session.awaiting or session.decisions else session.latest.held
        return checkpoint_at(session_id, msgspec.structs.replace(session.latest, held=held, children=session.children))


def _marks(record: r.Record) -> bool:
    """Whether a record is a mark, of the lead or of a sub-agent: what either did must not be done again."""
    if isinstance(record, r.Within):
        return any(isinstance(inner, r.Mark) for inner in record.records)
    return isinstance(record, r.Mark)
