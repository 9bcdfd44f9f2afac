"""What a run gives back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.core.limits import used_with_sub_agents
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.session import Session
from lousho_cli.domain.stops import Aborted, Spent, Tripped
from lousho_cli.domain.usage import RunUsage, StepUsage


class RunResult(msgspec.Struct, frozen=True):
    """The end, or the pause, of a run.

    text: the last text of the model in this run, '' on a pause.
    messages: the whole conversation, without input that waits behind open calls.
    tool_calls, usage, step_usage, steps: of this run alone.
    finish_reason: the model's own (stop, length, content_filter, error, other), or awaiting-approval,
        aborted, max-steps, budget-exceeded, guardrail, timeout.
    approval_id: on a pause, what a person must decide.
    stopped: a recoverable stop came first; the run goes on with the next resume.
    guardrail, budget, abort_reason: what stopped the run before it had its answer; one of them, or none.
    """

    session_id: str
    text: str
    messages: tuple[Message, ...]
    tool_calls: tuple[ToolCall, ...]
    usage: RunUsage
    step_usage: tuple[StepUsage, ...]
    finish_reason: str
    steps: int
    status: Status
    outcome: Literal["completed", "failed", "aborted"] | None = None
    approval_id: str | None = None
    business_state: Any = None
    stopped: bool = False
    guardrail: Tripped | None = None
    budget: Spent | None = None
    abort_reason: Aborted | None = None

    def __repr__(self) -> str:
        # Without the transcript: asyncio takes the repr of a task's result when it restores a signal handler.
        return f"<RunResult {self.session_id}: {self.status}, {self.finish_reason}, {self.steps} steps>"


def result_of(session_id: str, session: Session, *, stopped: bool = False) -> RunResult:
    """The result of a session at rest."""
    paused, stop = session.awaiting, session.stop
    return RunResult(
        session_id=session_id,
        text="" if paused else session.answer,
        messages=tuple(session.messages),
        tool_calls=session.tool_calls,
        usage=used_with_sub_agents(session),
        step_usage=tuple(session.step_usage),
        finish_reason="awaiting-approval" if paused else session.finish_reason,
        steps=session.step,
        status=session.status,
        outcome=session.outcome,
        approval_id=_waits_for(session) if paused else None,
        business_state=session.business_state,
        stopped=stopped,
        guardrail=stop if isinstance(stop, Tripped) else None,
        budget=stop if isinstance(stop, Spent) else None,
        abort_reason=stop if isinstance(stop, Aborted) else None,
    )


def _waits_for(session: Session) -> str | None:
    """The approval's id, also where only the checkpoint still names it."""
    if session.wait is not None:
        return session.wait.id
    return session.latest.approval_id if session.latest else None
