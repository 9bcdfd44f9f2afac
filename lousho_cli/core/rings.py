"""The session that a plain store's ring shows: what was kept of it, without the records in between.

A plain store keeps checkpoints and nothing else. So which run a checkpoint belongs to is told from
their order (a run begins behind a finished one, or where the steps begin again), and no mark has a
place in a log: its seq is 0. Numbers of runs and marks count from the oldest that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.checkpoints import state_of_checkpoint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.session import Run
from lousho_cli.domain.state import MarkState, State


def state_of_ring(entries: Sequence[CheckpointHistoryEntry], latest: Checkpoint | None, wait: PendingApproval | None = None) -> State:
    """The state of a session of which only checkpoints are kept.

    Args:
        entries: its ring, oldest first.
        latest: its checkpoint; None where that was deleted and the ring kept.
        wait: what it waits for, where that is known.
    """
    ring = _Ring()
    for entry in entries:
        ring.add(entry.checkpoint, entry.saved_at)
    marks = tuple(ring.marks)
    if latest is None:
        return State(marks=marks, runs=(*ring.runs, Run(number=ring.number, input_id="")), last_mark=ring.last)
    if not entries or entries[-1].checkpoint != latest:
        ring.add(latest, "")  # the ring is off, or lost this one
    state = state_of_checkpoint(latest, wait)
    return msgspec.structs.replace(state, runs=tuple(ring.runs), latest=ring.marks[-1], marks=marks, last_mark=ring.last)


class _Ring:
    """Marks being numbered, oldest first."""

    def __init__(self) -> None:
        self.marks: list[MarkState] = []
        self.runs: list[Run] = []
        self.last = (0, 0, 0)
        self._finished = True

    @property
    def number(self) -> int:
        return self.last[0]

    def add(self, checkpoint: Checkpoint, saved_at: str) -> None:
        number, step, n = self.last
        begins = self._finished or checkpoint.step_index < step
        number += begins
        self.last = (number, checkpoint.step_index, 1 if begins or checkpoint.step_index != step else n + 1)
        self._finished = checkpoint.status == "finished"
        state = state_of_checkpoint(checkpoint)
        run = msgspec.structs.replace(state.runs[-1], number=number)
        if not self.runs or self.runs[-1] != run:
            self.runs.append(run)
        self.marks.append(_mark(checkpoint, state, saved_at, self.last[2], len(self.runs) - 1))


def _mark(checkpoint: Checkpoint, state: State, saved_at: str, n: int, run: int) -> MarkState:
    return MarkState(
        seq=0,
        at=saved_at,
        step=checkpoint.step_index,
        n=n,
        run=run,
        status=checkpoint.status,
        finish_reason=checkpoint.finish_reason,
        approval_id=checkpoint.approval_id,
        approval_kind=checkpoint.approval_kind,
        own=checkpoint.messages,
        turns=state.turns,
        usage=checkpoint.usage,
        own_steps=checkpoint.step_usage,
        business_state=checkpoint.business_state,
        decisions=checkpoint.decisions,
        children=state.children,
    )
