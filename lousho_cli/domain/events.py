"""What a run tells who watches it: every type of event with its fields.

Most events follow from what was just written to the log, and ``core.telling`` gives the same ones, field by
field, to whoever reads that log later or from elsewhere. The others are of this moment alone and never in a
log: ``step.start``, ``reasoning.delta``, and the pieces of text as they come from the model.

An event that names something a caller may rely on comes only once that is durable: ``step.saved``,
``approval.requested``, ``input.queued``, ``run.done``.

A type is never taken away after a release, and only ever gains fields.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import msgspec

from lousho_cli.domain.agent import ModelChange
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.stops import GuardKind
from lousho_cli.domain.usage import CallUsage


class _Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What every event has.

    seq: counts from 0 without a gap, in each stream anew.
    timestamp: UTC, ISO 8601; of what is in the log, the time it was written.
    session: the session's id.
    cursor, index: the place in the log: the seq of the batch the event follows from, and its number among the
        events of that batch. Who goes on reading behind them gets exactly the rest.
    step: the step of the run it belongs to, None where it belongs to none.
    path: the names of the enclosing sub-agents, outermost first; () for the lead.
    """

    seq: int = 0
    timestamp: str = ""
    session: str = ""
    cursor: int = 0
    index: int = 0
    step: int | None = None
    path: tuple[str, ...] = ()
    v: Literal[1] = 1


class RunStart(_Event, frozen=True, gc=False, kw_only=True, tag="run.start"):
    """A run begins or goes on; first of its events.

    run: its number in the session. attempt: 1 where it begins. None both: it was refused before it could begin.
    """

    type: ClassVar[Literal["run.start"]] = "run.start"
    run: int | None = None
    attempt: int | None = None


class OperationResumed(_Event, frozen=True, gc=False, kw_only=True, tag="harness.operation.resumed"):
    """A host goes on with the turn that another left. ``operation``: the input it is of. ``attempt``: which this is, the first being 1.

    Text that came before, of an answer that was not ended, does not count, unless it was ``continued``: then it is kept, and the
    model goes on behind it.
    """

    type: ClassVar[Literal["harness.operation.resumed"]] = "harness.operation.resumed"
    operation: str
    attempt: int
    continued: bool = False


class RunDone(_Event, frozen=True, gc=False, kw_only=True, tag="run.done"):
    """A run ended, pauses, failed, was aborted or stopped; last of its events. One that was killed has none.

    finish_reason: as in ``RunResult``, ``error`` where it failed. outcome: None where it is to go on.
    approval_id: what a person must decide first.
    """

    type: ClassVar[Literal["run.done"]] = "run.done"
    finish_reason: str
    status: Status | None = None
    outcome: Literal["completed", "failed", "aborted"] | None = None
    approval_id: str | None = None


class RunError(_Event, frozen=True, gc=False, kw_only=True, tag="error"):
    """The run failed or was refused; ``run.done`` follows. ``code``: None where it was no error of ours."""

    type: ClassVar[Literal["error"]] = "error"
    message: str
    code: str | None = None


class StepStart(_Event, frozen=True, gc=False, kw_only=True, tag="step.start"):
    """The model is asked. Text that came for this step before, in a try that failed, does not count, unless that was ``continued``."""

    type: ClassVar[Literal["step.start"]] = "step.start"


class TextDelta(_Event, frozen=True, gc=False, kw_only=True, tag="text.delta"):
    """A piece of the answer. Those of a step, since its last ``run.start`` or ``provider.retry``, join to its text.

    From the log the pieces are those that were written for who looks on, the last one what was missing.
    """

    type: ClassVar[Literal["text.delta"]] = "text.delta"
    text: str


class ReasoningDelta(_Event, frozen=True, gc=False, kw_only=True, tag="reasoning.delta"):
    """A piece of the model's reasoning, as it comes."""

    type: ClassVar[Literal["reasoning.delta"]] = "reasoning.delta"
    text: str


class StepDone(_Event, frozen=True, gc=False, kw_only=True, tag="step.done"):
    """The whole answer of a step. ``usage``: None where the provider reported none."""

    type: ClassVar[Literal["step.done"]] = "step.done"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    model: str = ""
    usage: CallUsage | None = None


class StepSaved(_Event, frozen=True, gc=False, kw_only=True, tag="step.saved"):
    """The answer of a step is durable: no crash and no power cut takes it, and it is never asked for again. Once a step.

    Who reads a log of files while another process writes it sees an answer the moment it stands there, which may be
    before it is durable. There, this comes once that is known, perhaps behind ``run.done``: with the next batch,
    which names what was synced before it, or when the log was given back.
    """

    type: ClassVar[Literal["step.saved"]] = "step.saved"


class ToolStart(_Event, frozen=True, gc=False, kw_only=True, tag="tool.start"):
    """A call begins to run; in call order."""

    type: ClassVar[Literal["tool.start"]] = "tool.start"
    id: str
    name: str


class ToolResume(_Event, frozen=True, gc=False, kw_only=True, tag="tool.resume"):
    """A call runs again, as nobody knows how it ended before; or a sub-agent goes on. In place of ``tool.start``."""

    type: ClassVar[Literal["tool.resume"]] = "tool.resume"
    id: str
    name: str


class ToolDone(_Event, frozen=True, gc=False, kw_only=True, tag="tool.done"):
    """A call has its result; in the order they end.

    content: the JSON text the model gets. duration_ms: from its start to the record of its result; None where
    it never ran, or was begun by another process.
    """

    type: ClassVar[Literal["tool.done"]] = "tool.done"
    id: str
    name: str
    content: str
    duration_ms: int | None = None


class ToolError(_Event, frozen=True, gc=False, kw_only=True, tag="tool.error"):
    """The same, where the result is an error: the tool's own, or that the call was rejected, denied, cancelled or not run."""

    type: ClassVar[Literal["tool.error"]] = "tool.error"
    id: str
    name: str
    content: str
    duration_ms: int | None = None


class ApprovalRequested(_Event, frozen=True, gc=False, kw_only=True, tag="approval.requested"):
    """A person must decide, and can. Told of the lead alone; ``approval.path`` names the sub-agents on the way to the call."""

    type: ClassVar[Literal["approval.requested"]] = "approval.requested"
    approval: PendingApproval


class ApprovalDecided(_Event, frozen=True, gc=False, kw_only=True, tag="approval.decided"):
    """A person decided. ``id``: that of the approval. ``edited``: with other arguments. ``expired``: too late, so it is a no."""

    type: ClassVar[Literal["approval.decided"]] = "approval.decided"
    id: str
    approved: bool
    note: str | None = None
    edited: bool = False
    by: str | None = None
    expired: bool = False


class PermissionDecision(_Event, frozen=True, gc=False, kw_only=True, tag="permission.decision"):
    """A rule, the mode or a hook decided on a call. ``id`` and ``name`` are the call's."""

    type: ClassVar[Literal["permission.decision"]] = "permission.decision"
    id: str
    name: str
    action: Literal["allow", "ask", "deny"]
    source: Literal["rule", "mode", "hook"]
    reason: str = ""


class GuardrailTripped(_Event, frozen=True, gc=False, kw_only=True, tag="guardrail.tripped"):
    """A guardrail stopped the run. ``kind``: what it looked at; ``tool_name``: of the call, where it looked at one."""

    type: ClassVar[Literal["guardrail.tripped"]] = "guardrail.tripped"
    name: str
    kind: GuardKind
    reason: str = ""
    tool_name: str | None = None


class BudgetExceeded(_Event, frozen=True, gc=False, kw_only=True, tag="budget.exceeded"):
    """A limit stopped the run. ``value``: what was used, None where that is not known; ``scope``: what it is counted over."""

    type: ClassVar[Literal["budget.exceeded"]] = "budget.exceeded"
    limit: str
    value: float | None
    max: float
    scope: str = "run"


class AgentDrifted(_Event, frozen=True, gc=False, kw_only=True, tag="agent.drift"):
    """The agent is not the one the run was saved with, and the run goes on all the same. ``text`` says it in one line."""

    type: ClassVar[Literal["agent.drift"]] = "agent.drift"
    text: str
    model: ModelChange | None = None
    tools_added: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    tools_changed: tuple[str, ...] = ()
    instructions: bool = False


class ProviderRetry(_Event, frozen=True, gc=False, kw_only=True, tag="provider.retry"):
    """A model call failed and is tried again, for the ``count``-th time, in ``wait_ms`` milliseconds.

    category: that of ``ProviderError``. limit: how often it is tried again at most, None where that is not known.
    continued: the text that came is kept, and the model goes on behind it; else it counts no more.
    """

    type: ClassVar[Literal["provider.retry"]] = "provider.retry"
    count: int
    error: str
    wait_ms: int = 0
    category: str = ""
    limit: int | None = None
    continued: bool = False


class InputQueued(_Event, frozen=True, gc=False, kw_only=True, tag="input.queued"):
    """An input came and is durable. ``by``: who sent it. ``joins``: it enters the run that goes on."""

    type: ClassVar[Literal["input.queued"]] = "input.queued"
    input_id: str
    by: str | None = None
    joins: bool = False


class InputApplied(_Event, frozen=True, gc=False, kw_only=True, tag="input.applied"):
    """An input entered the transcript."""

    type: ClassVar[Literal["input.applied"]] = "input.applied"
    input_id: str


class AgentStarted(_Event, frozen=True, gc=False, kw_only=True, tag="agent.started"):
    """A background agent is to run, as the session ``agent_session``. ``group``: what it was started with."""

    type: ClassVar[Literal["agent.started"]] = "agent.started"
    agent_id: str
    name: str
    agent_session: str
    group: str | None = None


class AgentEnded(_Event, frozen=True, gc=False, kw_only=True, tag="agent.ended"):
    """A background agent came to its end. ``text``: its answer, perhaps clipped."""

    type: ClassVar[Literal["agent.ended"]] = "agent.ended"
    agent_id: str
    outcome: Literal["completed", "failed", "aborted"]
    text: str = ""
    error: str | None = None
    code: str | None = None


class WarningGiven(_Event, frozen=True, gc=False, kw_only=True, tag="warning"):
    """Something a person should know. ``about`` is a word for its kind, such as ``repair`` or ``damage``."""

    type: ClassVar[Literal["warning"]] = "warning"
    about: str
    text: str


Event = (
    RunStart
    | OperationResumed
    | RunDone
    | RunError
    | StepStart
    | TextDelta
    | ReasoningDelta
    | StepDone
    | StepSaved
    | ToolStart
    | ToolResume
    | ToolDone
    | ToolError
    | ApprovalRequested
    | ApprovalDecided
    | PermissionDecision
    | GuardrailTripped
    | BudgetExceeded
    | AgentDrifted
    | ProviderRetry
    | InputQueued
    | InputApplied
    | AgentStarted
    | AgentEnded
    | WarningGiven
)
"""Any event. ``event.type`` tells which, for people and for type checkers."""

TYPES: tuple[type[Event], ...] = get_args(Event)
"""Every type there is, by its class."""

ENVELOPE: tuple[str, ...] = _Event.__struct_fields__
"""The fields that every event has."""


def line_of(event: Event) -> dict[str, Any]:
    """An event as ``--output ndjson`` prints it: its own fields under ``data``, its place under ``cursor``."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    line: dict[str, Any] = {"type": fields.pop("type")}
    line |= {name: fields.pop(name) for name in ENVELOPE}
    line["cursor"] = {"seq": line.pop("cursor"), "index": line.pop("index")}
    return {name: value for name, value in line.items() if value not in (None, ())} | {"data": fields}
