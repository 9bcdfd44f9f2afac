"""What becomes of a run whose host is gone: the five questions, in their order, and how a run is ended that no host is to go on with.

the answer is there       completed, whatever else holds: finished work is never lost
an abort was asked        aborted, no model call
no attempt is left        failed, attempts_exhausted
its time is up            failed, timeout
otherwise                 it runs again, as the next attempt
"""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.core.decide import ends_as, has_answer, settled
from lousho_cli.core.effects import ASKED_TO_STOP, AgentFacts
from lousho_cli.core.resuming import outlook
from lousho_cli.core.stopping import closing, never_run
from lousho_cli.domain import records as r
from lousho_cli.domain.records import Outcome
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import ATTEMPTS_EXHAUSTED, OUT_OF_TIME, TIMED_OUT


class Recovery(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is done by default. ``outcome``, ``error`` and ``code`` are how a settled input ends."""

    action: Literal["run", "settle"]
    outcome: Outcome | None = None
    error: str | None = None
    code: str | None = None


class InterruptedTool(msgspec.Struct, frozen=True):
    """A call that recovery closes with a result text, and why.

    interrupted: it had begun, nobody knows how it ended, and it may not run again. truncated: the answer that asked for it
    was cut at the output limit. The ids and names of a sub-agent's calls have those that lead to them in front.
    """

    tool_call_id: str
    tool_name: str
    reason: Literal["interrupted", "truncated"]


def recovery_of(session: Session, now: str, max_attempts: int) -> Recovery | None:
    """The decision on the run that stands open; None where none does, or it waits for a person.

    Args:
        now: UTC, ISO 8601. max_attempts: how often an input may be run, the first time included.
    """
    if not session.exists or session.ended or session.outcome is not None or session.awaiting:
        return None
    if has_answer(session):
        return Recovery("settle", "completed")
    if session.abort_asked:
        return Recovery("settle", "aborted")
    if session.attempts >= max_attempts and not session.handed_over:
        times = "once" if max_attempts == 1 else f"{max_attempts} times"
        return Recovery("settle", "failed", f"the host stopped during this run {times}, and no attempt is left", ATTEMPTS_EXHAUSTED)
    if session.run.deadline is not None and now >= session.run.deadline:
        return Recovery("settle", "failed", OUT_OF_TIME, TIMED_OUT)
    return Recovery("run")


def interrupted_tools(session: Session, agent: AgentFacts) -> tuple[InterruptedTool, ...]:
    """The calls that recovery closes with a result text, in call order; not those that ended, and not those that run again."""
    if session.turn is not None and session.turn.truncated:
        return tuple(InterruptedTool(call.id, call.name, "truncated") for call in session.pending)
    return tuple(InterruptedTool(call.id, call.name, "interrupted") for call in outlook(session, agent).in_doubt)


def ending(session: Session, agent: AgentFacts, decided: Recovery) -> tuple[r.Record, ...]:
    """Ends the run that stands open as ``decided``: its open calls get results, so that whoever goes on has a valid transcript."""
    outcome = decided.outcome or "failed"
    closed = closing(session, agent, session.pending, never_run)
    end = settled(session, outcome, decided.error if outcome != "completed" else None, decided.code if outcome != "completed" else None)
    if outcome == "completed":
        return (*closed, r.Mark(session.step, "finished", ends_as(session)), *end)
    if outcome == "aborted":
        return (*closed, r.Mark(session.step, "in-progress", "aborted", stop=ASKED_TO_STOP), *end)
    return (*closed, *((r.Mark(session.step),) if closed else ()), *end)


def answered_anew(session: Session) -> tuple[r.Splice, ...]:
    """Takes the final answer out of the transcript, where it is there and the run is to go on all the same; nothing else does."""
    return (r.Splice(len(session.messages) - 1, (), "recover"),) if has_answer(session) else ()
