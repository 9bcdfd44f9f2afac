"""What would happen if a session went on now, and what stands against it. Nothing here runs anything."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.core.decide import AgentFacts
from lousho_cli.core.fingerprint import compare_fingerprints
from lousho_cli.core.gate import effective_replay
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.session import Session

DriftMode = Literal["warn", "error", "ignore"]
Verdict = Literal["missing-tool", "drift", "in-doubt", "awaiting", "safe", "nothing-pending"]


class Outlook(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a resume would do.

    will_run: calls that will run, in order; again: those of them that had been started before;
    in_doubt: calls that were started, have no result, and are not known to be safe to repeat.
    """

    verdict: Verdict
    will_run: tuple[ToolCall, ...] = ()
    again: tuple[ToolCall, ...] = ()
    in_doubt: tuple[ToolCall, ...] = ()
    missing: tuple[str, ...] = ()
    drift: AgentDrift | None = None


def missing_tools(session: Session, agent: AgentFacts) -> tuple[str, ...]:
    """Names of tools that calls still to run need, that the run had offered, and that the agent lacks now.

    A call that a person rejected runs no more; a name that was never offered gets a not-found result.
    """
    rejected = {call_id for call_id, decision in session.decisions.items() if not decision.approved}
    names = (call.name for call in session.pending if call.id not in rejected)
    return tuple(dict.fromkeys(n for n in names if n not in agent.tools and n in session.run.offered))


def drift_of(session: Session, agent: AgentFacts) -> AgentDrift | None:
    """How the agent differs from the one the unfinished run was saved with."""
    current = agent.begin.fingerprint
    if session.ended or current is None or not session.exists:
        return None
    return compare_fingerprints(session.run.fingerprint, current)


def outlook(session: Session, agent: AgentFacts, mode: DriftMode = "warn") -> Outlook:
    """The verdict on resuming, the gravest first: missing tool or refused drift, in doubt, a person, safe."""
    missing, drift = missing_tools(session, agent), drift_of(session, agent)
    replayed = {call.id: effective_replay(agent.tools.get(call.name), agent.policy, session.run.replay) for call in session.pending}
    started = session.turn.started if session.turn else {}
    cut = tuple(call for call in session.pending if call.id in started)
    in_doubt = tuple(call for call in cut if replayed[call.id] != "safe")
    waits = session.wait.tool_call_id if session.wait else None
    will_run: list[ToolCall] = []
    for call in session.pending:
        if call.id == waits:
            break  # neither it nor what stands behind it runs before a person decided
        if call not in in_doubt:
            will_run.append(call)
    verdict: Verdict = "safe"
    if missing:
        verdict = "missing-tool"
    elif drift is not None and mode == "error":
        verdict = "drift"
    elif in_doubt:
        verdict = "in-doubt"
    elif session.awaiting:
        verdict = "awaiting"
    elif session.ended or not session.exists:
        verdict = "nothing-pending"
    again = tuple(call for call in will_run if call in cut)
    return Outlook(verdict, tuple(will_run), again, in_doubt, missing, drift)
