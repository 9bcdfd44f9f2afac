"""The run at its pause, as an approval store keeps it, and the state it gives back."""

from __future__ import annotations

import msgspec

from lousho_cli.core.checkpoints import plain_children, state_of_checkpoint
from lousho_cli.core.open_turns import behind_the_transcript
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.session import Session
from lousho_cli.domain.state import State
from lousho_cli.domain.usage import RunUsage


def pending_of(pending: PendingApproval, session_id: str | None) -> PendingApproval:
    """The pending approval as it is shown: a log does not know its own id, whoever reads it does."""
    if not session_id or pending.session_id == session_id:
        return pending
    return msgspec.structs.replace(pending, session_id=session_id)


def snapshot_of(session: Session, pending: PendingApproval, session_id: str | None, agent: Agent | None = None) -> ExecutionSnapshot:
    """The run at its pause; ``agent`` as configured, else as its run was recorded."""
    ids = [call.id for call in session.pending]
    at = ids.index(pending.holds_up) if pending.holds_up in ids else -1
    return ExecutionSnapshot(
        agent=agent or agent_of(session),
        current_messages=(*session.messages, *behind_the_transcript(session)),
        pending_tool_call=pending,
        steps=session.step,
        session_id=session_id,
        remaining_tool_calls=session.pending[at + 1 :],
        usage=session.usage,
        step_usage=tuple(session.step_usage),
        agent_fingerprint=session.run.fingerprint,
        business_state=session.business_state,
        max_steps=session.run.max_steps,
        run_config=session.run.config,
        children=plain_children(session.children),
        run_id=session.run.input_id,
        decisions=dict(session.decisions),
    )


def agent_of(session: Session) -> Agent:
    """The agent as its run was recorded."""
    first = session.messages[0] if session.messages else None
    return Agent(
        name=session.agent or session.run.agent_id or "agent",
        prompt=first.text if first and first.role == "system" else "",
        model=session.run.model,
        tools=session.run.offered,
        id=session.run.agent_id,
    )


def state_of_snapshot(snapshot: ExecutionSnapshot) -> State:
    """The state a run goes on from where only its snapshot was kept."""
    pending, agent = snapshot.pending_tool_call, snapshot.agent
    checkpoint = Checkpoint(
        session_id=snapshot.session_id or "",
        messages=snapshot.current_messages,
        agent_id=agent.agent_id,
        step_index=snapshot.steps,
        usage=snapshot.usage or RunUsage(),
        step_usage=snapshot.step_usage,
        finish_reason="awaiting-approval",
        business_state=snapshot.business_state,
        status="awaiting-approval",
        approval_id=pending.id,
        approval_kind=pending.kind,
        agent_fingerprint=snapshot.agent_fingerprint,
        run_config=snapshot.run_config,
        offered=agent.tools or (),
        children=snapshot.children,
        run_id=snapshot.run_id,
        decisions=snapshot.decisions,
    )
    state = state_of_checkpoint(checkpoint, wait=pending)
    run = msgspec.structs.replace(state.runs[0], max_steps=snapshot.max_steps)
    return msgspec.structs.replace(state, runs=(run,))
