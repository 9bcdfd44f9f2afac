"""What would happen if a session went on now, and what stands against it. Nothing here runs anything."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.core.decide import AgentFacts
from lousho_cli.core.fingerprint import compare_fingerprints
from lousho_cli.core.gate import Ask, Consult, Run, Verdict, effective_replay, judge
from lousho_cli.core.sub_agents import facts_of, goes_on_within
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text
from lousho_cli.domain.session import Session

DriftMode = Literal["warn", "error", "ignore"]
Prospect = Literal["missing-tool", "drift", "in-doubt", "awaiting", "safe", "nothing-pending"]


class Outlook(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a resume would do.

    will_run: calls that will run, in order; again: those of them that had been started before;
    in_doubt: calls that were started, have no result, and are not known to be safe to repeat;
    may_ask: calls whose tool is asked first whether a person must decide, and those behind them that run unless one must;
    will_ask: the call that a person must decide on; behind: those that wait for that decision.
    A call that gets its result without running, such as a rejected one, is in none of them.
    """

    verdict: Prospect
    will_run: tuple[ToolCall, ...] = ()
    again: tuple[ToolCall, ...] = ()
    in_doubt: tuple[ToolCall, ...] = ()
    may_ask: tuple[ToolCall, ...] = ()
    will_ask: tuple[ToolCall, ...] = ()
    behind: tuple[ToolCall, ...] = ()
    missing: tuple[str, ...] = ()
    drift: AgentDrift | None = None


def missing_tools(session: Session, agent: AgentFacts) -> tuple[str, ...]:
    """Names of tools that calls still to run need, that the run had offered, and that the agent lacks now.

    A call that a person rejected runs no more; a name that was never offered gets a not-found result. What a
    sub-agent still has to run counts too.
    """
    rejected = {call_id for call_id, decision in session.decisions.items() if not decision.approved}
    open_calls = [call for call in session.pending if call.id not in rejected]
    missing = [call.name for call in open_calls if call.name not in agent.tools and call.name in session.run.offered]
    for call in open_calls:
        child, facts = session.children.get(call.id), facts_of(agent.tools.get(call.name))
        if child is not None and facts is not None:
            missing += missing_tools(child, facts)
    return tuple(dict.fromkeys(missing))


def drift_of(session: Session, agent: AgentFacts) -> AgentDrift | None:
    """How the agent differs from the one the unfinished run was saved with."""
    current = agent.begin.fingerprint
    if session.ended or current is None or not session.exists:
        return None
    return compare_fingerprints(session.run.fingerprint, current)


def outlook(session: Session, agent: AgentFacts, mode: DriftMode = "warn") -> Outlook:
    """The verdict on resuming, the gravest first: missing tool or refused drift, in doubt, a person, safe."""
    missing, drift = missing_tools(session, agent), drift_of(session, agent)
    ahead = _ahead(session, agent)
    verdict: Prospect = "safe"
    if missing:
        verdict = "missing-tool"
    elif drift is not None and mode == "error":
        verdict = "drift"
    elif ahead["in_doubt"]:
        verdict = "in-doubt"
    elif session.awaiting or ahead["will_ask"]:
        verdict = "awaiting"
    elif session.ended or not session.exists:
        verdict = "nothing-pending"
    calls = {name: tuple(found) for name, found in ahead.items()}
    return Outlook(verdict, missing=missing, drift=drift, **calls)


def _ahead(session: Session, agent: AgentFacts) -> dict[str, list[ToolCall]]:
    """What becomes of each call without a result, by the field of an outlook. A call that only gets its result is left out."""
    ahead: dict[str, list[ToolCall]] = {name: [] for name in ("will_run", "again", "in_doubt", "may_ask", "will_ask", "behind")}
    for asked in session.pending:
        child, facts = session.children.get(asked.id), facts_of(agent.tools.get(asked.name))
        if child is not None and facts is not None:
            within = _ahead_within(child, facts, asked)
            for name, calls in (_held_up(within) if ahead["will_ask"] else within).items():
                ahead[name] += calls
            continue
        call = _as_decided(session, asked)
        if _in_doubt(session, agent, asked):
            ahead["in_doubt"].append(call)  # it is settled at once, whatever stands in front of it
            continue
        verdict = _judged(session, agent, asked)
        if ahead["will_ask"]:
            if isinstance(verdict, Run | Ask | Consult):
                ahead["behind"].append(call)
        elif isinstance(verdict, Ask):
            ahead["will_ask"].append(call)
        elif isinstance(verdict, Consult) or (ahead["may_ask"] and isinstance(verdict, Run)):
            ahead["may_ask"].append(call)
        elif isinstance(verdict, Run):
            ahead["will_run"].append(call)
        if isinstance(verdict, Run | Consult) and not ahead["will_ask"] and _cut(session, agent, call):
            ahead["again"].append(call)
    return ahead


def _as_decided(session: Session, call: ToolCall) -> ToolCall:
    """The call with the arguments that count: a person may have changed those the model gave."""
    decision = session.decisions.get(call.id)
    if decision is None or decision.args is None:
        return call
    return msgspec.structs.replace(call, arguments=json_text(decision.args)[0])


def _cut(session: Session, agent: AgentFacts, call: ToolCall) -> bool:
    """Whether a call was begun, and does not simply go on where it stopped."""
    return session.turn is not None and call.id in session.turn.started and not goes_on_within(agent.tools.get(call.name))


def _held_up(ahead: dict[str, list[ToolCall]]) -> dict[str, list[ToolCall]]:
    """The same for who comes behind a call that a person must decide on: what would run waits."""
    waits = [call for name in ("will_run", "may_ask", "will_ask", "behind") for call in ahead.get(name, ())]
    return {"behind": waits, "in_doubt": ahead.get("in_doubt", [])}


def _ahead_within(child: Session, facts: AgentFacts, call: ToolCall) -> dict[str, list[ToolCall]]:
    """What becomes of a sub-agent: its own calls, named with the way to them, or, between two of them, the call that started it goes on."""
    if child.pending:
        return {name: [_led_to(call, one) for one in calls] for name, calls in _ahead(child, facts).items()}
    return {} if child.ended else {"will_run": [call]}


def _led_to(lead: ToolCall, call: ToolCall) -> ToolCall:
    return msgspec.structs.replace(call, id=f"{lead.id}/{call.id}", name=f"{lead.name}/{call.name}")


def _in_doubt(session: Session, agent: AgentFacts, call: ToolCall) -> bool:
    decision = session.decisions.get(call.id)
    if not _cut(session, agent, call) or (decision is not None and not decision.approved):
        return False
    return effective_replay(agent.tools.get(call.name), agent.policy, session.run.replay) != "safe"


def _judged(session: Session, agent: AgentFacts, call: ToolCall) -> Verdict:
    return judge(
        call,
        agent.tools.get(call.name),
        agent.policy,
        available=tuple(agent.tools),
        decision=session.decisions.get(call.id),
        cut=_cut(session, agent, call),
        asked=session.turn.asked.get(call.id) if session.turn is not None else None,
        truncated=session.turn is not None and session.turn.truncated,
        default_replay=session.run.replay,
    )
