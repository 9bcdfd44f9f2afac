"""A session being added up: mutable inside, so that a long log is read in one pass.

Its fields are those of ``Session``, with the open turn spread out. ``freeze`` gives the
value everybody else works with, in time that does not depend on the length of the transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.session import AgentState, Ask, Asked, InputState, Marked, OpenTurn, Parent, Run, Session, SoFar, Wake
from lousho_cli.domain.shared import Growing, Shared
from lousho_cli.domain.stops import Stop
from lousho_cli.domain.usage import RunUsage, StepUsage


class Accumulator(SoFar):
    """A session being added up. Its fields are those of ``Session``; the open turn is spread out."""

    __slots__ = (
        *Session.__struct_fields__,
        "_joins",
        "_own_inputs",
        "_unbilled",
        "asked",
        "calls",
        "done",
        "results",
        "spawned",
        "started",
        "steps",
        "truncated",
    )

    # The fields of Session, for the type checker; ``load`` sets them.
    seq: int
    epoch: int
    format: int
    agent: str
    path: str | None
    harness: str | None
    tenant: str | None
    parent: Parent | None
    created_at: str
    updated_at: str
    messages: Growing[Message]
    held: tuple[Message, ...]
    turns: int
    turn: OpenTurn | None
    run: Run
    step: int
    usage: RunUsage
    earlier: RunUsage
    step_usage: Growing[StepUsage]
    status: Any
    finish_reason: str
    wait: PendingApproval | None
    wait_taken: bool
    decisions: dict[str, ApprovalDecision]
    decided: dict[str, bool]
    retries: int
    business_state: Any
    inputs: dict[str, InputState]
    waiting: tuple[str, ...]
    active: tuple[str, ...]
    attempts: int
    handed_over: bool
    abort_asked: bool
    outcome: Any
    error: str | None
    error_code: str | None
    latest: Marked | None
    marks: Growing[Marked]
    last_mark: tuple[int, int, int]
    ring: int
    unknown: tuple[str, ...]
    children: dict[str, Accumulator]
    stop: Stop | None
    settings: Mapping[str, Any]
    wake: Wake | None
    asks: Mapping[str, Ask]
    agents: Mapping[str, AgentState]
    asked: Mapping[str, Asked]
    calls: tuple[ToolCall, ...]
    done: int
    results: dict[str, Message]
    started: dict[str, int]
    spawned: dict[str, tuple[int, str]]
    steps: Mapping[str, Mapping[str, Any]]
    truncated: bool
    _joins: set[str] | None
    _own_inputs: bool
    _unbilled: list[StepUsage]

    def __init__(self, session: Session | None = None) -> None:
        self.load(session or Session())

    def load(self, session: Session) -> None:
        """Starts over from ``session``, which stays as it is."""
        for name in Session.__struct_fields__:
            setattr(self, name, getattr(session, name))
        self.messages, self.step_usage = Growing(session.messages), Growing(session.step_usage)
        self.marks = Growing(session.marks)
        self._unbilled, self._own_inputs, self._joins = [], False, None
        self.children = {}
        self.put_turn(session.turn)
        self.children = {call_id: type(self)(child) for call_id, child in session.children.items()}

    def child(self, calls: Sequence[str]) -> Accumulator | None:
        """The sub-agent that ``calls`` lead to, a new one where none has begun; None where no such call is open."""
        f = self
        for call_id in calls:
            child = f.children.get(call_id)
            if child is None:
                if call_id in f.results or all(call.id != call_id for call in f.calls[f.done :]):
                    return None
                child = f.children[call_id] = type(self)()
            f = child
        return f

    def end_child(self, call_id: str) -> None:
        """The result of the call that started a sub-agent is in the transcript: what it used is counted, the rest is in the log.

        Until then a checkpoint holds it, so that nothing of it is done again where only the checkpoint was kept.
        """
        child = self.children.pop(call_id, None)
        if child is not None:
            if self._unbilled:
                self._bill()
            self.usage = self.usage.delegating(child.freeze().usage)

    def put_input(self, input_id: str, state: InputState) -> None:
        """What is known of an input now. What a session that was given out knows stays as it is."""
        if not self._own_inputs:
            self.inputs, self._own_inputs = dict(self.inputs), True
        self.inputs[input_id] = state
        if self._joins is not None:
            (self._joins.add if state.joins else self._joins.discard)(input_id)

    @property
    def joining(self) -> tuple[str, ...]:
        """The inputs that wait to enter the run that is under way. As a rule none does, which is known without a look at all that wait."""
        if self._joins is None:
            self._joins = {i for i in self.waiting if self.inputs[i].joins}
        return tuple(i for i in self.waiting if i in self._joins) if self._joins else ()

    def used(self, step: StepUsage) -> None:
        """Adds what one model call used."""
        self.step_usage.append(step)
        self._unbilled.append(step)

    def mark(self, seq: int, at: str, n: int, approval_id: str | None, limit: int) -> None:
        """A checkpoint is here, the newest of a ring of ``limit``. ``approval_id``: what it waits for."""
        if self._unbilled:
            self._bill()
        waits = self.wait if self.wait is not None and self.wait.id == approval_id else None
        self.latest = Marked(
            seq,
            at,
            self.step,
            n,
            self.status,
            self.finish_reason,
            approval_id if self.status == "awaiting-approval" else None,
            waits.kind if waits else None,
            self.run,
            self.messages.view(),
            (*self.held, *self._arriving()) if self.waiting else self.held,
            self.turns,
            self.usage,
            self.step_usage.view(),
            self.business_state,
            self.decisions,
            self._frozen_children() if self.children else {},
        )
        self.marks.append(self.latest)
        self.marks.keep_newest(limit)

    def _arriving(self) -> list[Message]:
        """The messages that wait to enter this run."""
        return [message for i in self.joining for message in self.inputs[i].messages]

    def _bill(self) -> None:
        """Adds the usage of the model calls that the totals do not hold yet; only done when somebody looks."""
        self.usage, self._unbilled = self.usage.plus(self._unbilled), []

    def begin_run(self, run: Run) -> None:
        """Steps and usage count from zero; what was used before stays known."""
        if self._unbilled:
            self._bill()
        if self.usage.model_calls:
            self.earlier = self.earlier.joined(self.usage)
        self.run, self.step, self.usage, self.step_usage = run, 0, RunUsage(), Growing(Shared())

    def put_messages(self, messages: Iterable[Message]) -> None:
        """Makes ``messages`` the transcript; checkpoints keep the one they point into."""
        self.messages = Growing(Shared(messages))

    def put_turn(self, turn: OpenTurn | None) -> None:
        """Makes ``turn`` the open one, None for none."""
        self.close_turn()
        if turn is not None:
            self.begin_turn(turn.calls, truncated=turn.truncated)
            self.done = turn.done
            self.results, self.started, self.spawned = dict(turn.results), dict(turn.started), dict(turn.spawned)
            self.asked, self.steps = turn.asked, turn.steps

    def begin_turn(self, calls: tuple[ToolCall, ...], *, truncated: bool) -> None:
        """Opens a turn none of whose calls has begun."""
        if self.calls:
            self.close_turn()
        self.calls, self.done, self.truncated = calls, 0, truncated

    def close_turn(self) -> None:
        """Every call has its result."""
        self.calls, self.done, self.truncated = (), 0, False
        self.results, self.started, self.spawned, self.asked, self.steps = {}, {}, {}, {}, {}
        if self.children:
            self.children = {}

    def look(self) -> SoFar:
        """What is known so far, to be read before anything else comes: that costs no copy of it."""
        if self._unbilled:
            self._bill()
        self.turn = self._turn_with(self.results, self.started, self.spawned) if self.calls else None
        for child in self.children.values():
            child.look()
        return self

    def freeze(self) -> Session:
        """The session so far, as a value."""
        if self._unbilled:
            self._bill()
        self._own_inputs = False
        return Session(
            self.seq,
            self.epoch,
            self.format,
            self.agent,
            self.path,
            self.harness,
            self.tenant,
            self.parent,
            self.created_at,
            self.updated_at,
            self.messages.view(),
            self.held,
            self.turns,
            self._turn_with(dict(self.results), dict(self.started), dict(self.spawned)) if self.calls else None,
            self.run,
            self.step,
            self.usage,
            self.earlier,
            self.step_usage.view(),
            self.status,
            self.finish_reason,
            self.wait,
            self.wait_taken,
            self.decisions,
            self.decided,
            self.retries,
            self.business_state,
            self.inputs,
            self.waiting,
            self.active,
            self.attempts,
            self.handed_over,
            self.abort_asked,
            self.outcome,
            self.error,
            self.error_code,
            self.latest,
            self.marks.view(),
            self.last_mark,
            self.ring,
            self.unknown,
            self._frozen_children() if self.children else {},
            self.stop,
            self.settings,
            self.wake,
            self.asks,
            self.agents,
        )

    def _frozen_children(self) -> dict[str, Session]:
        return {call_id: child.freeze() for call_id, child in self.children.items()}

    def _turn_with(self, results: dict[str, Message], started: dict[str, int], spawned: dict[str, tuple[int, str]]) -> OpenTurn:
        return OpenTurn(self.calls, self.done, results, started, spawned, self.truncated, self.asked, self.steps)
