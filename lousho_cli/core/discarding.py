"""Dropping the turn of a session that did not end: its next message begins from the state before it.

Nothing is erased. The log keeps what was said and done, and the ring its marks; the transcript goes on
without them.
"""

from __future__ import annotations

from lousho_cli.core.checkpoints import state_of_checkpoint
from lousho_cli.core.decide import AgentFacts, cancel, settled
from lousho_cli.core.stopping import closed_within
from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.session import Session

WHY = "discarded"

_NOBODY = AgentFacts(tools={}, begin=r.RunStarted(input_id=""))


def discard_records(session: Session, before: Session | None) -> tuple[r.Record, ...]:
    """What drops the unfinished run of a session: what is open is closed, the transcript goes back, the run has ended.

    Args:
        before: the session when the run began; None where the log no longer says, and the business state stays.
    """
    cancelled = (*closed_within(session, session.pending, _NOBODY), *(cancel(call) for call in session.pending))
    ended = settled(session, "aborted") if session.outcome is None else ()
    changed = before is not None and before.business_state != session.business_state
    state = (r.BusinessState(before.business_state),) if before is not None and changed else ()
    reason = before.finish_reason if before is not None and before.ended else "stop"
    # Step 0: of this run no model call is left, so an address of one of its steps still means the step.
    mark = r.Mark(0, "finished", reason)
    note = r.Note(WHY, f"the unfinished run {session.run.number} was dropped; the transcript goes on from the state before it")
    return (*cancelled, *ended, r.Splice(session.run.start, why=WHY), *state, mark, note)


def checkpoint_before(checkpoint: Checkpoint, earlier: list[Checkpoint]) -> Checkpoint:
    """The checkpoint to go on from, where nothing but checkpoints is kept.

    Args:
        earlier: those that are kept, newest first. The end of the run before is one of them, unless it was dropped; then
            it is made of what the newest one holds, with its usage, and its business state.
    """
    start = state_of_checkpoint(checkpoint).runs[0].start
    messages = checkpoint.messages
    for kept in earlier:
        if kept.status == "finished" and kept.messages == messages[: len(kept.messages)] and len(kept.messages) <= start:
            return kept
    return Checkpoint(
        session_id=checkpoint.session_id,
        messages=messages[:start],
        agent_id=checkpoint.agent_id,
        usage=checkpoint.usage,
        step_usage=checkpoint.step_usage,
        business_state=checkpoint.business_state,
        status="finished",
        agent_fingerprint=checkpoint.agent_fingerprint,
        offered=checkpoint.offered,
        metadata=checkpoint.metadata,
    )


def run_began_at(batches: tuple[r.Batch, ...], input_id: str) -> int | None:
    """The seq of the batch in which the run of this input began; None when it is not among them."""
    for batch in reversed(batches):
        if any(isinstance(record, r.RunStarted) and record.input_id == input_id for record in batch.records):
            return batch.seq
    return None
