"""decide: what happens next. A session and the facts go in, effects come out.

Resuming is not a feature here, it is what running is: a run that just began, one whose
process died, one a person just approved and one forked from another ask the same question
and get the same answer.

    turn is open        each call in order: settle it, run it, ask its tool, or ask a person
    answer, no calls    the run is finished
    budget spent        the run is finished
    otherwise           call the model
    finished            rest, until the next input comes (``next_input``)

Nothing is drawn, read or awaited. ``Write`` holds what is known to be true at once and only
has to be recorded; ``core.advance`` asks again behind it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.core import gate, tool_errors
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval, digest_of
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import plain
from lousho_cli.domain.session import OpenTurn, Session
from lousho_cli.domain.times import later


class AgentFacts(msgspec.Struct, frozen=True):
    """What deciding needs to know of the agent.

    tools: by name, those it has today. ``begin``: how a new run of it is recorded, but for the input's id.
    tool_concurrency: how many calls may run at once; None for no limit.
    max_tokens: input and output of the run together; None for no limit. max_duration_ms: the time a run may take.
    """

    tools: Mapping[str, gate.GatedTool]
    begin: r.RunStarted
    policy: gate.Policy = gate.Policy()
    max_steps: int = 10
    tool_concurrency: int | None = None
    max_tokens: int | None = None
    approval_ttl_ms: int | None = None
    max_duration_ms: int | None = None


class Live(msgspec.Struct, frozen=True):
    """What deciding needs to know of this process.

    in_flight: ids of the calls it is running; ``consulting`` of those whose approval function is being asked,
    ``consulted`` what such functions said; ``salt`` makes new ids this process's own; ``calling_model`` while an answer is on its way.
    aborted: the user's abort. late: the time of the run is up. stopping: a stop that another process will go on from, or a fatal error.
    """

    now: str
    salt: str = ""
    in_flight: frozenset[str] = frozenset()
    consulting: frozenset[str] = frozenset()
    consulted: Mapping[str, gate.Consulted] = {}
    calling_model: bool = False
    aborted: bool = False
    late: bool = False
    stopping: bool = False


class Write(msgspec.Struct, frozen=True):
    """Record this; there is nothing to perform."""

    records: tuple[r.Record, ...]


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model for step ``step``."""

    step: int


class ConsultTool(msgspec.Struct, frozen=True):
    """Ask the tool's own approval function about this call."""

    call: ToolCall
    args: Any


class RunCall(msgspec.Struct, frozen=True):
    """Run this call.

    rerun: it was started before and nobody knows how that ended. decision: what a person said of it.
    """

    call: ToolCall
    args: Any
    rerun: bool = False
    decision: ApprovalDecision | None = None


class Rest(msgspec.Struct, frozen=True):
    """Nothing happens any more unless somebody comes: the run ended, waits, failed or was aborted."""


Effect = Write | CallModel | ConsultTool | RunCall | Rest


def decide(session: Session, agent: AgentFacts, live: Live) -> tuple[Effect, ...]:
    """All that may start now, in order. Empty: something in flight has to come back first."""
    if live.aborted or session.abort_asked:
        return _stop(session, agent, live, "aborted")
    if live.stopping:
        return () if live.in_flight else (Rest(),)
    if session.wait is not None or session.awaiting:
        return (Rest(),)
    if session.outcome is not None:
        return (Rest(),)
    if _out_of_time(session, live):
        return _stop(session, agent, live, "timeout")
    if session.turn is not None:
        return tuple(_batch(session, session.turn, agent, live))
    if live.in_flight or live.calling_model:
        return ()
    return _after_turn(session, agent)


_ENDS = {"stop", "length", "content_filter", "error", "other", "max-steps", "budget-exceeded", "timeout"}


def _after_turn(session: Session, agent: AgentFacts) -> tuple[Effect, ...]:
    if not session.messages:
        return (Rest(),)
    last = session.messages[-1]
    if last.role == "assistant" and not last.tool_calls:
        return (_finish(session, session.finish_reason),)
    if session.step >= agent.max_steps:
        return (_finish(session, "max-steps"),)
    if agent.max_tokens is not None and session.usage.total_tokens >= agent.max_tokens:
        return (_finish(session, "budget-exceeded"),)
    return (CallModel(session.step + 1),)


def _finish(session: Session, reason: str) -> Write:
    # A reason of ours (aborted, awaiting-approval) stood for an earlier rest; an answer that stands is an answer.
    reason = reason if reason in _ENDS else "stop"
    return Write((r.Mark(session.step, "finished", reason), *settled(session, "completed")))


def settled(session: Session, outcome: r.Outcome, error: str | None = None, code: str | None = None) -> tuple[r.InputSettled, ...]:
    """The end of every input this run answers."""
    ids = session.active or (session.run.input_id,)
    return tuple(r.InputSettled(input_id, outcome, error, code) for input_id in ids)


def next_input(session: Session, agent: AgentFacts, now: str) -> tuple[r.Record, ...]:
    """How the oldest input that waits begins, once the run before it has ended; nothing while none may."""
    if not session.waiting or session.outcome is None or session.awaiting:
        return ()
    input_id = session.waiting[0]
    begin: r.Record = started(agent, input_id, now, instructions=None) if session.ended else resumed(session, agent, now)
    return (begin, r.InputApplied(input_id))


def started(agent: AgentFacts, input_id: str, now: str, instructions: str | None) -> r.RunStarted:
    """How it is recorded that a run of this agent begins; its time is stamped here and nowhere else."""
    deadline = _later(now, agent.max_duration_ms)
    return msgspec.structs.replace(agent.begin, input_id=input_id, instructions=instructions, deadline=deadline)


def resumed(session: Session, agent: AgentFacts, now: str, attempt: int | None = None) -> r.RunResumed:
    """How it is recorded that an unfinished run goes on with this agent; as its next attempt, unless told which."""
    begin = agent.begin
    following = 1 if session.outcome is not None else session.attempts + 1
    # Its time stands, unless it had ended before or never had one: a fork, or a store that keeps none.
    afresh = session.outcome is not None or session.run.deadline is None
    return r.RunResumed(
        attempt=attempt or following,
        fingerprint=begin.fingerprint if begin.fingerprint != session.run.fingerprint else None,
        offered=begin.offered if begin.offered != session.run.offered else None,
        model=begin.model if begin.model != session.run.model else None,
        max_steps=begin.max_steps if begin.max_steps != session.run.max_steps else None,
        deadline=_later(now, agent.max_duration_ms) if afresh else None,
    )


def _out_of_time(session: Session, live: Live) -> bool:
    if session.turn is None and session.messages and session.messages[-1].role == "assistant":
        return False  # it has its answer
    deadline = session.run.deadline
    return live.late or (deadline is not None and live.now >= deadline)


def _stop(session: Session, agent: AgentFacts, live: Live, reason: Literal["aborted", "timeout"]) -> tuple[Effect, ...]:
    """Cancels what is open, once nothing runs any more. An abort can be gone on from; a run out of time has ended."""
    if session.outcome is not None or session.ended:
        return (Rest(),)
    open_calls = [call for call in session.pending if call.id not in live.in_flight]
    started = session.turn.started if session.turn else {}
    cancelled = tuple(_cut(call, agent) if call.id in started else cancel(call) for call in open_calls)
    if live.in_flight:
        return (Write(cancelled),) if cancelled else ()
    # A model call that was cut short was paid for, so its step counts.
    step = session.step + live.calling_model
    if reason == "aborted":
        return (Write((*cancelled, r.Mark(step, "in-progress", reason), *settled(session, "aborted"))),)
    return (Write((*cancelled, r.Mark(step, "finished", reason), *settled(session, "completed"))),)


def cancel(call: ToolCall) -> r.ToolFinished:
    """The result of a call that an abort kept from running, or from being waited for."""
    return r.ToolFinished(call.id, tool_errors.cancelled(call), is_error=True)


def _cut(call: ToolCall, agent: AgentFacts) -> r.ToolFinished:
    """The result of a call that somebody who is gone had started: nobody knows how it ended."""
    return r.ToolFinished(call.id, tool_errors.interrupted(call, agent.policy.interrupted_result), is_error=True)


def _batch(session: Session, turn: OpenTurn, agent: AgentFacts, live: Live) -> Iterator[Effect]:
    """The calls of the open turn, in order, up to the first that holds up those behind it."""
    running = len(live.in_flight)
    names = session.run.offered or tuple(agent.tools)
    for call in turn.unanswered:
        if call.id in live.in_flight:
            continue
        cut = call.id in turn.started
        verdict = gate.judge(
            call,
            agent.tools.get(call.name),
            agent.policy,
            available=names,
            decision=session.decisions.get(call.id),
            consulted=live.consulted.get(call.id),
            cut=cut,
            truncated=turn.truncated,
            default_replay=session.run.replay,
        )
        match verdict:
            case gate.Settle(content, is_error):
                yield Write((r.ToolFinished(call.id, content, is_error=is_error),))
                continue
            case gate.Run(args):
                if agent.tool_concurrency is not None and running >= agent.tool_concurrency:
                    return
                running += 1
                yield RunCall(call, args, cut, session.decisions.get(call.id))
                continue
            case gate.Consult(args) if call.id not in live.consulting:
                yield ConsultTool(call, args)
            case gate.Ask() if not running:
                yield Write(_pause(session, call, verdict, agent, live))
            case _:
                pass  # a pause waits for the calls in front of it, a question to the tool for its answer
        return


def _pause(session: Session, call: ToolCall, ask: gate.Ask, agent: AgentFacts, live: Live) -> tuple[r.Record, ...]:
    approval = PendingApproval(
        id=hashlib.sha256(f"{live.salt}:{session.seq}:{call.id}".encode()).hexdigest()[:12],
        tool_call_id=call.id,
        tool_name=call.name,
        args=plain(ask.args)[0],
        digest=digest_of(ask.args),
        created_at=live.now,
        expires_at=_later(live.now, agent.approval_ttl_ms),
        kind=ask.kind,
        question=ask.question,
        agent_id=session.run.agent_id,
    )
    mark = r.Mark(session.step, "awaiting-approval", "awaiting-approval", approval_id=approval.id)
    return (r.WaitOpened(approval), mark)


def _later(now: str, ms: int | None) -> str | None:
    return None if ms is None else later(now, ms)
