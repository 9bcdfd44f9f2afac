"""Sub-agents: what a call that starts one means.

A sub-agent is a session inside the session (``records.Within``): it has its own transcript, steps and
limits, and the same ``fold`` and ``decide``. The lead knows three things of it: that it goes on, that it
waits for a person, that it ended. So a restart, an approval or a fork at any depth needs nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lousho_cli.core import tool_errors
from lousho_cli.core.decide import AgentFacts, resumed, started
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ToolCall, user
from lousho_cli.domain.plain import json_text
from lousho_cli.domain.session import Session

ENDED_WELL = {"stop", "other"}
"""The finish reasons behind which an answer is the whole answer."""


def begins(child: Session | None, facts: AgentFacts, call: ToolCall, args: Any, now: str) -> tuple[r.Own, ...]:
    """The records a sub-agent begins or goes on with; none where it had its end already."""
    if child is None or not child.exists:
        text = args["input"] if isinstance(args, Mapping) else str(args)
        begin = started(facts, call.id, now, facts.begin.instructions)
        return (r.InputReceived(call.id, (user(text),)), begin, r.InputApplied(call.id))
    return () if child.ended else (resumed(child, facts, now),)


def result_of(call: ToolCall, child: Session) -> r.ToolFinished | None:
    """The result that a sub-agent's end is for its lead; None while it has not ended.

    The text of its answer; with ``ended`` beside it where something else than the answer ended it.
    """
    if child.outcome == "aborted":
        return r.ToolFinished(call.id, tool_errors.cancelled(call), is_error=True)
    if not child.ended:
        return None
    answer: Any = child.answer
    if child.finish_reason not in ENDED_WELL:
        answer = {"answer": child.answer, "ended": child.finish_reason}
    content, altered = json_text(answer)
    return r.ToolFinished(call.id, content, altered=altered)
