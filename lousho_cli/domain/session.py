"""A session: what the records of one log add up to. A frozen value; ``core.fold`` makes it.

It does not know its own id, so that a copied or moved log is still the same session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval, Question, WaitKind
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.cut_answers import joined
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.shared import Growing, Shared
from lousho_cli.domain.stops import Stop
from lousho_cli.domain.usage import RunUsage, StepUsage
from lousho_cli.domain.wait_records import AskAnswered


class Parent(msgspec.Struct, frozen=True, gc=False):
    """Where a fork left: the parent's id, the seq of the cut and its step. ``beside``: it is no fork, but an agent of the parent's."""

    session: str
    seq: int = 0
    step: int = 0
    beside: bool = False


class Run(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What holds for one run of a session. ``start`` is how many messages were there before it."""

    number: int
    input_id: str
    start: int = 0
    fingerprint: Fingerprint | None = None
    offered: tuple[str, ...] = ()
    model: str | None = None
    replay: Literal["safe", "never"] = "safe"
    max_steps: int | None = None
    agent_id: str = ""
    config: Any = None
    deadline: str | None = None


class Asked(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a call that had begun needs a person for, and the arguments it runs with again."""

    kind: WaitKind
    question: Question
    args: Any = None


class Ask(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What running code asks a person, under ``approval.step``; ``answer`` is None until one has answered."""

    approval: PendingApproval
    answer: AskAnswered | None = None


class OpenTurn(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The newest turn while it has calls without a result.

    ``results`` are those behind the first unanswered call, by call id; the in-order prefix
    is in the transcript already. ``started`` gives the epoch under which a call was begun.
    ``asked`` are the calls that had begun and now wait for a person; ``steps`` what named steps
    within a call gave, by call id and name.
    """

    calls: tuple[ToolCall, ...]
    done: int = 0
    results: dict[str, Message] = {}
    started: dict[str, int] = {}
    spawned: dict[str, tuple[int, str]] = {}
    truncated: bool = False
    asked: Mapping[str, Asked] = {}
    steps: Mapping[str, Mapping[str, Any]] = {}

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        rest, results = self.calls[self.done :], self.results
        return tuple(call for call in rest if call.id not in results) if results else rest


class InputState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One input: its content digest, who sent it, and how far it came. Of a rejected one ``error`` is the reason.

    operation: of one that was applied, the input whose turn it is part of; span: where that turn stands in the transcript, up to its end.
    """

    digest: str
    by: str | None = None
    status: Literal["received", "applied", "settled", "rejected"] = "received"
    outcome: Literal["completed", "failed", "aborted"] | None = None
    error: str | None = None
    messages: tuple[Message, ...] = ()
    joins: bool = False
    overrides: dict[str, Any] = {}
    code: str | None = None
    operation: str | None = None
    span: tuple[int, int] | None = None


class AgentState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A background agent: how it was started, see ``AgentStarted``, and, once it ended, how; ``messages`` are gone by then."""

    name: str
    session: str
    messages: tuple[Message, ...] = ()
    run_again: bool = False
    wake: bool = False
    group: str | None = None
    by: str | None = None
    outcome: Literal["completed", "failed", "aborted"] | None = None
    text: str = ""
    error: str | None = None
    code: str | None = None


class Marked(msgspec.Struct, frozen=True, gc=False):
    """A checkpoint in the ring. ``n`` numbers the marks of one step from 1 and never moves."""

    seq: int
    at: str
    step: int
    n: int
    status: Status
    finish_reason: str
    approval_id: str | None
    approval_kind: str | None
    run: Run
    messages: Shared[Message]
    held: tuple[Message, ...]
    turns: int
    usage: RunUsage
    step_usage: Shared[StepUsage]
    business_state: Any
    decisions: dict[str, ApprovalDecision]
    children: Mapping[str, Session] = {}

    @property
    def address(self) -> str:
        """What stands behind the ``@`` to mean exactly this mark: ``run/step.n``."""
        return f"{self.run.number}/{self.step}.{self.n}"


NO_RUN = Run(number=0, input_id="")


HOST_FOLDER = "lousho.host_folder"
"""The setting that names the host whose folder tools of a session have used."""


IMPORTING = "lousho.importing"
"""The setting of a session that is being imported: the first batch that is written sets it, and the last one takes it away."""

IMPORT_CUT = "its import did not come to its end"
"""What is told of one that still has it while nobody imports it."""


class Wake(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """When a session is to be taken up by whoever finds it. ``messages`` become the input ``id`` then; without any none does."""

    at: str
    id: str = ""
    messages: tuple[Message, ...] = ()
    by: str | None = None


class SoFar:
    """What deciding reads of a session: of the value, or of one that is still being added up. See ``Session`` for the fields."""

    __slots__ = ()

    seq: int
    messages: Shared[Message] | Growing[Message]
    turn: OpenTurn | None
    run: Run
    step: int
    usage: RunUsage
    status: Status
    finish_reason: str
    wait: PendingApproval | None
    decisions: Mapping[str, ApprovalDecision]
    inputs: Mapping[str, InputState]
    waiting: tuple[str, ...]
    active: tuple[str, ...]
    abort_asked: bool
    outcome: Literal["completed", "failed", "aborted"] | None
    children: Mapping[str, SoFar]

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls of the last turn that have no result, in call order."""
        return self.turn.unanswered if self.turn else ()

    @property
    def joining(self) -> tuple[str, ...]:
        """Ids of the inputs that enter the run before its next model call, in order."""
        return tuple(i for i in self.waiting if self.inputs[i].joins) if self.waiting else ()

    @property
    def awaiting(self) -> bool:
        return self.status == "awaiting-approval"

    @property
    def ended(self) -> bool:
        """Whether the run came to its end; a failed or aborted one did not."""
        return self.status == "finished"


class Session(SoFar, msgspec.Struct, frozen=True, gc=False):
    """The fold of a log up to ``seq``.

    messages: the transcript; every turn in it but the last is answered.
    held: input waiting behind unanswered calls.
    turn: the open turn, None when every call has its result.
    step: model calls so far in this run, usage: what they used; earlier: what the runs before this one used.
    wait: what a person must decide, None when nothing waits; ``wait_taken`` once an approval store gave it away.
    asks: what calls that run ask a person, of sub-agents too, by id, until the call has its result.
    decisions: what a person decided on calls of the open turn, by call id.
    decided: ids of all approvals that were decided, for ever.
    waiting: ids of inputs received and not applied, in order.
    active: ids of inputs this run has to settle.
    children: the sub-agents that calls of the open turn have started, by call id: each a session of its own.
    attempts: how often the run was begun; handed_over: its owner stopped on purpose, so going on with it is no further attempt.
    outcome, error: how the newest run ended, None while it did not; stop: what stopped it before it had its answer.
    latest: the newest mark, None before the first; marks: the ring, oldest first.
    last_mark: run, step and number of the newest mark ever, so that numbers never move.
    ring: how many marks the ring keeps, as the newest of them says.
    unknown: reserved record types of a newer version that were passed over.
    settings: values that were set for this session, by name. wake: when it is to be taken up, and with what.
    agents: the background agents it has started, by id.
    """

    seq: int = 0
    epoch: int = 0
    format: int = 1
    agent: str = ""
    path: str | None = None
    harness: str | None = None
    tenant: str | None = None
    parent: Parent | None = None
    created_at: str = ""
    updated_at: str = ""
    messages: Shared[Message] = msgspec.field(default_factory=Shared)
    held: tuple[Message, ...] = ()
    turns: int = 0
    turn: OpenTurn | None = None
    run: Run = NO_RUN
    step: int = 0
    usage: RunUsage = RunUsage()
    earlier: RunUsage = RunUsage()
    step_usage: Shared[StepUsage] = msgspec.field(default_factory=Shared)
    status: Status = "in-progress"
    finish_reason: str = "stop"
    wait: PendingApproval | None = None
    wait_taken: bool = False
    decisions: Mapping[str, ApprovalDecision] = {}
    decided: Mapping[str, bool] = {}
    retries: int = 0
    business_state: Any = None
    inputs: Mapping[str, InputState] = {}
    waiting: tuple[str, ...] = ()
    active: tuple[str, ...] = ()
    attempts: int = 0
    handed_over: bool = False
    abort_asked: bool = False
    outcome: Literal["completed", "failed", "aborted"] | None = None
    error: str | None = None
    error_code: str | None = None
    latest: Marked | None = None
    marks: Shared[Marked] = msgspec.field(default_factory=Shared)
    last_mark: tuple[int, int, int] = (0, 0, 0)
    ring: int = 50
    unknown: tuple[str, ...] = ()
    children: Mapping[str, Session] = {}
    stop: Stop | None = None
    settings: Mapping[str, Any] = {}
    wake: Wake | None = None
    asks: Mapping[str, Ask] = {}
    agents: Mapping[str, AgentState] = {}

    @property
    def open_asks(self) -> tuple[PendingApproval, ...]:
        """What calls that run ask a person and nobody has answered, oldest first."""
        return tuple(ask.approval for ask in self.asks.values() if ask.answer is None)

    @property
    def lead(self) -> str | None:
        """The session that has this one run as a background agent."""
        return self.parent.session if self.parent is not None and self.parent.beside else None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written and not cleared since."""
        return bool(self.run.input_id)

    @property
    def answer(self) -> str:
        """The last text of the model in this run; '' when it said nothing."""
        for message in reversed(joined(self.messages[self.run.start :])):
            if message.role == "assistant" and message.text:
                return message.text
        return ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every call the model asked for in this run."""
        return tuple(call for message in self.messages[self.run.start :] for call in message.tool_calls)
