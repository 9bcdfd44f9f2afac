"""decide: what happens next. A session and the facts go in, effects come out.

Resuming is not a feature here, it is what running is: a run that just began, one whose
process died, one a person just approved and one forked from another ask the same question
and get the same answer.

    turn is open        each call in order: settle it, run it, ask its tool, or ask a person
    answer, no calls    the run is finished; one that only paused goes on with the next model call
    budget spent        the run is finished
    otherwise           call the model
    finished            rest, until the next input comes (``next_input``)

Nothing is drawn, read or awaited. ``Write`` holds what is known to be true at once and only
has to be recorded; ``core.advance`` asks again behind it.
"""

from __future__ import annotations

import msgspec

from lousho_cli.core import gate
from lousho_cli.core.between import next_in_line, resets_due
from lousho_cli.core.effects import (
    AgentFacts,
    CallModel,
    CheckInput,
    ConsultTool,
    Effect,
    FinishCall,
    Live,
    Rest,
    RunCall,
    Throw,
    Write,
)
from lousho_cli.core.pausing import pause, pause_on
from lousho_cli.core.stopping import cancel, halt, over_budget, settled, spent_before, stop_all
from lousho_cli.core.sub_agents import goes_on_within, wait_of_lead
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.session import OpenTurn, Session, SoFar
from lousho_cli.domain.times import later

__all__ = [
    "AgentFacts",
    "CallModel",
    "CheckInput",
    "ConsultTool",
    "Effect",
    "FinishCall",
    "Live",
    "Rest",
    "RunCall",
    "Throw",
    "Write",
    "begin_run",
    "birth",
    "cancel",
    "decide",
    "ends_as",
    "finished",
    "has_answer",
    "next_in_line",
    "next_input",
    "resumed",
    "settled",
    "started",
]


def decide(session: SoFar, agent: AgentFacts, live: Live) -> tuple[Effect, ...]:
    """All that may start now, in order. Empty: something in flight has to come back first."""
    if live.aborted or session.abort_asked:
        return stop_all(session, agent, live, "aborted")
    if live.stopping:
        return () if live.in_flight else (Rest(),)
    if session.wait is not None or session.status == "awaiting-approval" or session.outcome is not None:
        return (Rest(),)
    if _late(session, live) and not has_answer(session):
        return stop_all(session, agent, live, "timeout")
    if live.tripped is not None:
        return halt(session, agent, live.tripped, settled(session, "completed", also=live.refused))
    if session.turn is not None:
        over = spent_before(session.turn, session, agent, live) if agent.limits is not None or live.over is not None else None
        return _batch(session, session.turn, agent, live) if over is None else halt(session, agent, over)
    if live.in_flight or live.calling_model:
        return ()
    return _joined(session, agent, live) or _after_turn(session, agent, live)


PAUSED = "pause"
"""The finish reason of an answer that its server cut in two: it is sent back as it is, and the model goes on with it."""

_ENDS = {"stop", "length", "content_filter", "error", "other", "max-steps", "budget-exceeded", "guardrail", "timeout"}


def _joined(session: SoFar, agent: AgentFacts, live: Live) -> tuple[Effect, ...]:
    """Input that came meanwhile enters the run, while it may still answer it; else it waits for a run of its own."""
    if not session.waiting or not _may_ask_again(session, agent, live):
        return ()
    entering = _may_join(session, agent)
    unseen = [input_id for input_id in entering if input_id not in live.cleared] if agent.guards_input else []
    if unseen:
        return (CheckInput(unseen[0]),)
    return (Write(tuple(r.InputApplied(input_id) for input_id in entering)),) if entering else ()


def _may_join(session: SoFar, agent: AgentFacts) -> tuple[str, ...]:
    """The inputs that enter now: in the order they came, up to the first that the agent does not let in."""
    if agent.may_join is None or not session.joining:
        return session.joining
    asked_by = session.inputs.get(session.active[0] if session.active else session.run.input_id)
    sender = asked_by.by if asked_by is not None else None
    let_in: list[str] = []
    for input_id in session.joining:
        if not agent.may_join(input_id, session.inputs[input_id], sender):
            break
        let_in.append(input_id)
    return tuple(let_in)


def _may_ask_again(session: SoFar, agent: AgentFacts, live: Live) -> bool:
    """Whether the run has a step, time and budget left for another model call."""
    if session.step >= agent.max_steps or _late(session, live):
        return False
    return over_budget(session, agent, live) is None


def _after_turn(session: SoFar, agent: AgentFacts, live: Live) -> tuple[Effect, ...]:
    last = session.messages.last
    if last is None:
        return (Rest(),)
    if last.role == "assistant" and not last.tool_calls and session.finish_reason != PAUSED:
        return (_finish(session, ends_as(session)),)
    if last.role == "tool" and session.finish_reason == "length" and agent.cut_answer_ends:
        return (_finish(session, "length"),)
    if session.step >= agent.max_steps:
        return (_finish(session, "max-steps"),)
    over = over_budget(session, agent, live)
    return (CallModel(session.step + 1),) if over is None else halt(session, agent, over)


def ends_as(session: SoFar) -> str:
    """The finish reason of a run that ends with what is there."""
    # A reason of ours (aborted, awaiting-approval) stood for an earlier rest; an answer that stands is an answer.
    return session.finish_reason if session.finish_reason in _ENDS else "stop"


def _finish(session: SoFar, reason: str) -> Write:
    return Write((r.Mark(session.step, "finished", reason), *settled(session, "completed")))


def next_input(session: Session, agent: AgentFacts, now: str, created: r.Created | None = None) -> tuple[r.Record, ...]:
    """How the input that is next in line begins, once the run before it has ended; nothing while none may. ``created`` as in ``birth``."""
    input_id = next_in_line(session)
    if input_id is None:
        return ()
    first = resets_due(session)
    if session.exists and not session.ended:
        return (*first, resumed(session, agent, now), r.InputApplied(input_id))
    born = birth(session, created) if created else ()
    return (*born, *first, begin_run(session, agent, input_id, now), r.InputApplied(input_id))


def birth(session: Session, created: r.Created) -> tuple[r.Record, ...]:
    """``created`` for a log that says nothing of its session yet, or whose session was deleted and starts over under its ring.

    All that the former may hold is what others left before it began.
    """
    return () if session.created_at and session.exists else (created,)


def begin_run(session: Session, agent: AgentFacts, input_id: str, now: str) -> r.RunStarted:
    """How the next run of a session begins; the first one brings the instructions with it."""
    return started(agent, input_id, now, None if session.exists else agent.begin.instructions)


def started(agent: AgentFacts, input_id: str, now: str, instructions: str | None) -> r.RunStarted:
    """How it is recorded that a run of this agent begins; its time is stamped here and nowhere else."""
    deadline = _later(now, agent.max_duration_ms)
    return msgspec.structs.replace(agent.begin, input_id=input_id, instructions=instructions, deadline=deadline)


def resumed(session: Session, agent: AgentFacts, now: str, attempt: int | None = None) -> r.RunResumed:
    """How it is recorded that an unfinished run goes on with this agent; as its next attempt, unless told which."""
    begin = agent.begin
    following = 1 if session.outcome is not None else session.attempts + (not session.handed_over)
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


def has_answer(session: SoFar) -> bool:
    """Whether the model's final answer is there, so that nothing is left but to say so."""
    last = session.messages.last if session.turn is None else None
    return last is not None and last.role == "assistant" and session.finish_reason != PAUSED


def _late(session: SoFar, live: Live) -> bool:
    deadline = session.run.deadline
    return live.late or (deadline is not None and live.now >= deadline)


def _batch(session: SoFar, turn: OpenTurn, agent: AgentFacts, live: Live) -> tuple[Effect, ...]:
    """What starts now of the calls of the open turn: in order, up to the first that holds up those behind it."""
    effects: list[Effect] = []
    running = len(live.in_flight)
    for call in turn.unanswered:
        if call.id in live.in_flight:
            continue
        tool = agent.tools.get(call.name)
        child = session.children.get(call.id) if session.children else None
        if child is not None and goes_on_within(tool):
            waits = child.wait if child.awaiting else None
            if waits is None and not _full(agent, running):
                running += 1
                effects.append(RunCall(call, None, decision=session.decisions.get(call.id)))
                continue
            if waits is not None and not running:
                effects.append(Write(pause_on(session, wait_of_lead(call, waits, live.now))))
            break
        cut = call.id in turn.started and not goes_on_within(tool)
        verdict = gate.judge(
            call,
            tool,
            agent.policy,
            available=session.run.offered or tuple(agent.tools),
            decision=session.decisions.get(call.id),
            consulted=live.consulted.get(call.id),
            cut=cut,
            asked=turn.asked.get(call.id),
            truncated=turn.truncated,
            default_replay=session.run.replay,
        )
        if type(verdict) is gate.Run:
            if _full(agent, running):
                break
            running += 1
            effects.append(RunCall(call, verdict.args, cut, session.decisions.get(call.id), verdict.ruling))
        elif type(verdict) is gate.Settle:
            end = FinishCall(call, verdict)
            effects.append(end if agent.policy.reports else Write((*end.first, finished(call, verdict))))
        else:
            effects += _held_up(session, call, verdict, agent, live, running)
            break
    return tuple(effects)


def _held_up(session: SoFar, call: ToolCall, verdict: gate.Verdict, agent: AgentFacts, live: Live, running: int) -> tuple[Effect, ...]:
    """What a call leads to that holds up those behind it; a pause, too, waits for the calls in front of it, a question for its answer."""
    match verdict:
        case gate.Consult(args, resumed_) if call.id not in live.consulting:
            return (ConsultTool(call, args, resumed_),)
        case gate.Block(tripped) if not running:
            return halt(session, agent, tripped, blocked=call)
        case gate.Ask() if not running:
            return (Write(pause(session, call, verdict, now=live.now, salt=live.salt, ttl_ms=agent.approval_ttl_ms)),)
        case _:
            return ()


def _full(agent: AgentFacts, running: int) -> bool:
    return agent.tool_concurrency is not None and running >= agent.tool_concurrency


def finished(call: ToolCall, settled: gate.Settle) -> r.ToolFinished:
    """The result of a call that did not run, as it is recorded."""
    return r.ToolFinished(call.id, settled.content, settled.is_error, settled.altered, settled.replaced_by)


def _later(now: str, ms: int | None) -> str | None:
    return None if ms is None else later(now, ms)
