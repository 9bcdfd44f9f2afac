"""Ending a run before it has its answer: aborted, out of time, over a budget, stopped by a guardrail. Every open call gets a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from lousho_cli.core import tool_errors
from lousho_cli.core.effects import AgentFacts, Effect, Live, Rest, Throw, Write
from lousho_cli.core.gate import cut_text
from lousho_cli.core.limits import spent
from lousho_cli.core.sub_agents import within
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.session import OpenTurn, SoFar
from lousho_cli.domain.stops import Spent, Tripped
from lousho_cli.domain.texts import BLOCKED_TOOL_RESULT, ENDED_TOOL_RESULT, OUT_OF_TIME, OVER_BUDGET_TOOL_RESULT, TIMED_OUT
from lousho_cli.domain.times import ms_between


def settled(
    session: SoFar, outcome: r.Outcome, error: str | None = None, code: str | None = None, also: tuple[str, ...] = ()
) -> tuple[r.InputSettled, ...]:
    """The end of every input this run answers, and of those in ``also``."""
    ids = tuple(dict.fromkeys((*(session.active or (session.run.input_id,)), *also)))
    return tuple(r.InputSettled(input_id, outcome, error, code) for input_id in ids)


def over_budget(session: SoFar, agent: AgentFacts, live: Live) -> Spent | None:
    """The limit that is reached: of this agent, or of one it works for."""
    return live.over if agent.limits is None or live.over is not None else spent(session.usage, agent.limits)


def spent_before(turn: OpenTurn, session: SoFar, agent: AgentFacts, live: Live) -> Spent | None:
    """The limit that the answer asking for this turn's calls came to; None once one of them has begun."""
    begun = turn.started or turn.results or turn.done or turn.asked
    return None if begun else over_budget(session, agent, live)


def halt(
    session: SoFar, agent: AgentFacts, stop: Tripped | Spent, ends: tuple[r.Record, ...] = (), blocked: ToolCall | None = None
) -> tuple[Effect, ...]:
    """Ends the run here: calls that are open get results that say so. Where its caller wants an error, nothing is recorded.

    Args:
        blocked: the call that a guardrail stopped it at.
    """
    over = isinstance(stop, Spent)
    if over and agent.limits is not None and agent.limits.on_exceeded == "throw":
        return (Throw(stop),)
    text = OVER_BUDGET_TOOL_RESULT if over else BLOCKED_TOOL_RESULT
    started = session.turn.started if session.turn else {}
    results = []
    for call in session.pending:
        if blocked is not None and call.id == blocked.id and isinstance(stop, Tripped):
            results.append(r.ToolFinished(call.id, tool_errors.denied(call, stop.reason), is_error=True))
        elif call.id in started:
            results.append(cut(call, agent))
        else:
            results.append(r.ToolFinished(call.id, tool_errors.not_run(call, text), is_error=True))
    mark = r.Mark(session.step, "finished", "budget-exceeded" if over else "guardrail", stop=stop)
    return (Write((*closed_within(session, session.pending, agent), *results, mark, *(ends or settled(session, "completed")))),)


def stop_all(session: SoFar, agent: AgentFacts, live: Live, reason: Literal["aborted", "timeout"]) -> tuple[Effect, ...]:
    """Cancels what is open, once nothing runs any more. An abort can be gone on from; a run out of time has ended, or failed."""
    if session.outcome is not None or session.ended:
        return (Rest(),)
    cancelled = closing(session, agent, [call for call in session.pending if call.id not in live.in_flight], cancel)
    if live.in_flight:
        return (Write(cancelled),) if cancelled else ()
    # A model call that was cut short was paid for, so its step counts.
    step = session.step + live.calling_model
    if reason == "aborted":
        return (Write((*cancelled, r.Mark(step, "in-progress", reason, stop=live.why), *settled(session, "aborted"))),)
    stop = _late_by(session, agent, live)
    if agent.late_fails:
        end = settled(session, "failed", OUT_OF_TIME, TIMED_OUT)
        return (Write((*cancelled, r.Mark(step, "in-progress", reason, stop=stop), *end)),)
    return (Write((*cancelled, r.Mark(step, "finished", reason, stop=stop), *settled(session, "completed"))),)


def closing(
    session: SoFar, agent: AgentFacts, calls: Iterable[ToolCall], never_begun: Callable[[ToolCall], r.ToolFinished]
) -> tuple[r.Record, ...]:
    """The results of open calls that will not run, with the end of the sub-agents among them. ``never_begun`` makes that of any other."""
    turn, calls = session.turn, list(calls)
    if turn is None:
        return ()
    started = turn.started.keys() - session.children.keys()
    results: list[r.Record] = []
    for call in calls:
        if turn.truncated:
            results.append(r.ToolFinished(call.id, tool_errors.truncated(call, cut_text(call, agent.policy)), is_error=True))
        else:
            results.append(cut(call, agent) if call.id in started else never_begun(call))
    return (*closed_within(session, calls, agent), *results)


def closed_within(session: SoFar, calls: Iterable[ToolCall], agent: AgentFacts) -> tuple[r.Record, ...]:
    """The end of the sub-agents that ``calls`` had started and that go on: each of their calls, too, gets a result."""
    records: list[r.Record] = []
    for call in calls:
        child = session.children.get(call.id)
        if child is None or child.ended or child.outcome is not None:
            continue
        started = child.turn.started.keys() - child.children.keys() if child.turn else ()
        results = [cut(one, agent) if one.id in started else cancel(one) for one in child.pending]
        own = (*closed_within(child, child.pending, agent), *results, r.Mark(child.step, "in-progress", "aborted"))
        records += within((call.id,), (*own, *settled(child, "aborted")))
    return tuple(records)


def _late_by(session: SoFar, agent: AgentFacts, live: Live) -> Spent | None:
    if agent.max_duration_ms is None or session.run.deadline is None:
        return None
    over = max(ms_between(session.run.deadline, live.now), 0)
    return Spent("max_duration_ms", agent.max_duration_ms + over, agent.max_duration_ms)


def never_run(call: ToolCall) -> r.ToolFinished:
    """The result of a call that had not begun when its run was ended."""
    return r.ToolFinished(call.id, tool_errors.not_run(call, ENDED_TOOL_RESULT), is_error=True)


def cancel(call: ToolCall) -> r.ToolFinished:
    """The result of a call that an abort kept from running, or from being waited for."""
    return r.ToolFinished(call.id, tool_errors.cancelled(call), is_error=True)


def cut(call: ToolCall, agent: AgentFacts) -> r.ToolFinished:
    """The result of a call that somebody who is gone had started: nobody knows how it ended."""
    return r.ToolFinished(call.id, tool_errors.interrupted(call, agent.policy.interrupted_result), is_error=True)
