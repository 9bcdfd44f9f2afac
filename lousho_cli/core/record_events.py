"""What a single record tells, by what it meant where it stood. ``core.telling`` puts these in their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.domain import events as e
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import is_cut_off
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.stops import Spent, Tripped
from lousho_cli.domain.times import ms_between

DRIFT = "drift"
"""The kind of the note that says which drift was let pass."""


class Watched:
    """What is known of one agent, the lead or a sub-agent, beside its session.

    going: it was told that a run goes on. sent: the text that was told of the answer being written.
    begun: by call id, the epoch and time at which a call was started.
    """

    __slots__ = ("begun", "going", "sent")

    def __init__(self) -> None:
        self.going = False
        self.sent = ""
        self.begun: dict[str, tuple[int, str]] = {}


HANDED_OVER = "handed over"


def before(f: Accumulator | None, record: Any) -> Any:
    """What has to be looked at before a record is folded; None where it will change nothing.

    Of a call that starts, whether it had been started before; of one that ends, its name; else whether it counts.
    """
    if f is None:
        return True
    match record:
        case r.ToolStarted():
            return record.id in f.started if _call(f, record.id) else None
        case r.ToolFinished():
            call = _call(f, record.id)
            return call.name if call and call in f.calls[f.done :] and record.id not in f.results else None
        case r.WaitAnswered():
            return True if f.wait is not None and f.wait.id == record.id else None
        case r.AskAnswered():
            ask = f.asks.get(record.id)
            return True if ask is not None and ask.answer is None else None
        case r.RunResumed():
            return HANDED_OVER if f.handed_over else True
        case r.InputReceived():
            return True if record.id not in f.inputs else None
        case r.AgentStarted():
            return True if record.id not in f.agents else None
        case r.AgentEnded():
            return True if record.id in f.agents and f.agents[record.id].outcome is None else None
        case r.InputApplied():
            known = f.inputs.get(record.id)
            return True if known is not None and known.status == "received" else None
    return True


def events_of(f: Accumulator, watched: Watched, record: Any, was: Any, batch: r.Batch, *, lead: bool) -> Iterator[e.Event]:
    """The events of a record that was just folded into ``f``; ``was`` is what ``before`` said of it."""
    if was is None:
        return
    match record:
        case r.Turn() | r.Partial() | r.RunStarted() | r.ModelRetry() | r.Splice():
            yield from _of_model(f, watched, record)
        case r.ToolStarted() | r.ToolAsked() | r.ToolFinished() | r.PermissionDecided():
            yield from _of_calls(f, watched, record, was, batch)
        case r.Mark(stop=Tripped() as stop):
            yield e.GuardrailTripped(step=f.step or None, name=stop.name, kind=stop.kind, reason=stop.reason, tool_name=stop.tool_name)
        case r.Mark(stop=Spent() as stop):
            yield e.BudgetExceeded(step=f.step or None, limit=stop.limit, value=stop.value, max=stop.max, scope=stop.scope)
        case r.WaitOpened() | r.AskOpened() if lead:
            yield e.ApprovalRequested(step=f.step or None, approval=record.approval)
        case r.WaitAnswered() | r.AskAnswered():
            yield _decided(f, record)
        case r.InputReceived() | r.InputApplied() | r.AgentStarted() | r.AgentEnded() if lead:
            yield _of_lead(record)
        case r.RunResumed():
            watched.sent = ""
            if lead and f.harness is not None and (f.attempts > 1 or was is HANDED_OVER):
                continued = any(isinstance(one, r.Splice) and one.why == "continue" for one in batch.records)
                yield e.OperationResumed(operation=f.active[0] if f.active else f.run.input_id, attempt=f.attempts, continued=continued)
        case r.RunHeld() | r.Note():
            yield _noted(record)


def ended(f: Accumulator, *, settled: bool) -> tuple[e.Event, ...]:
    """How a run's end is told, or its pause where nothing was ``settled``."""
    if not settled:
        waits = f.wait.id if f.wait is not None else None
        return (e.RunDone(step=f.step, finish_reason="awaiting-approval", status=f.status, approval_id=waits),)
    if f.outcome != "failed":
        return (e.RunDone(step=f.step, finish_reason=f.finish_reason, status=f.status, outcome=f.outcome),)
    failed = e.RunError(message=f.error or "", code=f.error_code)
    return failed, e.RunDone(step=f.step, finish_reason="error", status=f.status, outcome=f.outcome)


def name_of(f: Accumulator, call_id: str) -> str:
    """The name of a call of the open turn; the id where there is none."""
    call = _call(f, call_id)
    return call.name if call is not None else call_id


def _call(f: Accumulator, call_id: str) -> ToolCall | None:
    return next((call for call in f.calls if call.id == call_id), None)


def _of_model(f: Accumulator, watched: Watched, record: Any) -> Iterator[e.Event]:
    sent, watched.sent = watched.sent, ""
    match record:
        case r.Partial():
            watched.sent = sent + record.text
            if record.text:
                yield e.TextDelta(step=f.step + 1, text=record.text)
        case r.Turn():
            text = record.message.text
            if text.startswith(sent) and text != sent:
                yield e.TextDelta(step=f.step, text=text[len(sent) :])
            yield e.StepDone(
                step=f.step,
                text=text,
                tool_calls=record.message.tool_calls,
                finish_reason=record.finish_reason,
                model=record.model,
                usage=record.usage,
            )
            yield e.StepSaved(step=f.step)
        case r.ModelRetry():
            yield e.ProviderRetry(
                step=f.step + 1,
                count=record.count,
                error=record.error,
                wait_ms=record.wait_ms,
                category=record.category,
                limit=record.limit,
                continued=record.continued,
            )
        case r.Splice(add=(kept, *_)) if is_cut_off(kept) and kept.text.startswith(sent) and kept.text != sent:
            yield e.TextDelta(step=f.step + 1, text=kept.text[len(sent) :])


def _of_calls(f: Accumulator, watched: Watched, record: Any, was: Any, batch: r.Batch) -> Iterator[e.Event]:
    match record:
        case r.ToolStarted():
            watched.begun[record.id] = (batch.epoch, batch.at)
            kind = e.ToolResume if was else e.ToolStart
            yield kind(step=f.step, id=record.id, name=name_of(f, record.id))
        case r.ToolAsked():
            watched.begun.pop(record.id, None)
        case r.ToolFinished():
            epoch, at = watched.begun.pop(record.id, (0, ""))
            took = max(ms_between(at, batch.at), 0) if epoch == batch.epoch else None
            ends = e.ToolError if record.is_error else e.ToolDone
            yield ends(step=f.step, id=record.id, name=was, content=record.content, duration_ms=took)
        case r.PermissionDecided():
            name = name_of(f, record.id)
            yield e.PermissionDecision(
                step=f.step, id=record.id, name=name, action=record.action, source=record.source, reason=record.reason
            )


def _decided(f: Accumulator, record: r.WaitAnswered | r.AskAnswered) -> e.Event:
    return e.ApprovalDecided(
        step=f.step or None,
        id=record.id,
        approved=record.approved and not record.expired,
        note=record.note,
        edited=isinstance(record, r.WaitAnswered) and record.args is not None,
        by=record.by,
        expired=record.expired,
    )


def _of_lead(record: r.InputReceived | r.InputApplied | r.AgentStarted | r.AgentEnded) -> e.Event:
    """What only the session itself has: inputs, and agents beside it."""
    match record:
        case r.InputReceived():
            return e.InputQueued(input_id=record.id, by=record.by, joins=record.joins)
        case r.InputApplied():
            return e.InputApplied(input_id=record.id)
        case r.AgentStarted():
            return e.AgentStarted(agent_id=record.id, name=record.name, agent_session=record.session, group=record.group)
        case r.AgentEnded():
            return e.AgentEnded(agent_id=record.id, outcome=record.outcome, text=record.text, error=record.error, code=record.code)


def _noted(record: r.Note | r.RunHeld) -> e.Event:
    if isinstance(record, r.RunHeld):
        return e.WarningGiven(about="held-up", text=record.error)
    if record.kind != DRIFT:
        return e.WarningGiven(about=record.kind, text=record.text)
    drift = record.drift
    if drift is None:
        return e.AgentDrifted(text=record.text)
    return e.AgentDrifted(
        text=drift.describe(),
        model=drift.model,
        tools_added=drift.tools_added,
        tools_removed=drift.tools_removed,
        tools_changed=drift.tools_changed,
        instructions=drift.instructions,
    )
