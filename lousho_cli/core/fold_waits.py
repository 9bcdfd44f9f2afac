"""The part of ``core.fold`` about people: what they are asked, what they say, and what a session waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.answering import decision_of
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.session import Ask, Asked
from lousho_cli.domain.times import later, ms_between


def _tool_asked(f: Accumulator, record: r.ToolAsked, _batch: r.Batch) -> None:
    if any(call.id == record.id for call in f.calls[f.done :]) and record.id not in f.results:
        f.asked = {**f.asked, record.id: Asked(record.kind, record.question, record.args)}
        f.started.pop(record.id, None)  # it ended by asking: it was not cut


def no_longer_asks(f: Accumulator, call_id: str) -> None:
    if call_id in f.asked:
        f.asked = {known: asked for known, asked in f.asked.items() if known != call_id}


def forget_wait(f: Accumulator) -> None:
    """The sub-agents that led to what the session waited for no longer wait for it either."""
    wait, child = f.wait, f
    for call_id in wait.calls if wait else ():
        if call_id not in child.children:
            return
        child = child.children[call_id]
        child.wait, child.status = None, "in-progress"


def approval_marker(decision: ApprovalDecision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    marker = {"id": decision.id, "approved": decision.approved, "edited": decision.args is not None}
    return {"approval": marker | ({"by": decision.by} if decision.by else {})}


def _wait_opened(f: Accumulator, record: r.WaitOpened, _batch: r.Batch) -> None:
    f.wait, f.wait_taken = record.approval, False


def _wait_taken(f: Accumulator, record: r.WaitTaken, _batch: r.Batch) -> None:
    if f.wait is not None and f.wait.id == record.id:
        f.wait_taken = True
        f.decided = {**f.decided, record.id: True}


def _wait_put_back(f: Accumulator, record: r.WaitPutBack, _batch: r.Batch) -> None:
    if f.wait is not None and f.wait.id == record.id:
        f.wait_taken = False
        f.decided = {i: approved for i, approved in f.decided.items() if i != record.id}


def _wait_answered(f: Accumulator, record: r.WaitAnswered, batch: r.Batch) -> None:
    if f.wait is None or f.wait.id != record.id:
        return
    asked = f.children.get(f.wait.calls[0]) if f.wait.calls else None
    if asked is not None:
        _wait_answered(asked, record, batch)
    call_id = f.wait.tool_call_id
    decision = decision_of(f.wait, record, f.decisions.get(call_id))
    if not f.wait.calls:
        f.decisions = {**f.decisions, call_id: decision}
        no_longer_asks(f, call_id)
    f.decided = {**f.decided, record.id: decision.approved}
    if f.run.deadline is not None:
        # The time a person took is not the run's.
        waited = max(ms_between(f.wait.created_at, batch.at), 0)
        f.run = msgspec.structs.replace(f.run, deadline=later(f.run.deadline, waited))
    f.wait, f.wait_taken, f.status = None, False, "in-progress"


def _ask_opened(f: Accumulator, record: r.AskOpened, _batch: r.Batch) -> None:
    new = record.approval
    where = (new.place, new.step)
    kept = {i: ask for i, ask in f.asks.items() if i != new.id and (ask.approval.place, ask.approval.step) != where}
    f.asks = {**kept, new.id: Ask(new)}


def _ask_answered(f: Accumulator, record: r.AskAnswered, _batch: r.Batch) -> None:
    ask = f.asks.get(record.id)
    if ask is None or ask.answer is not None:
        return
    f.asks = {**f.asks, record.id: Ask(ask.approval, record)}
    f.decided = {**f.decided, record.id: record.approved and not record.expired}


def drop_ended_asks(f: Accumulator) -> None:
    """A call that has its result, or is gone, asks nobody any more."""
    if not all(_is_open(f, ask.approval.place) for ask in f.asks.values()):
        f.asks = {i: ask for i, ask in f.asks.items() if _is_open(f, ask.approval.place)}


def _is_open(f: Accumulator, place: Sequence[str]) -> bool:
    agent: Accumulator | None = f
    for depth, call_id in enumerate(place):
        if agent is None or call_id in agent.results or all(call.id != call_id for call in agent.calls[agent.done :]):
            return False
        if depth + 1 < len(place):
            agent = agent.children.get(call_id)
    return True


WAITS: dict[type, Callable[[Accumulator, Any, r.Batch], None]] = {
    r.ToolAsked: _tool_asked,
    r.WaitOpened: _wait_opened,
    r.WaitTaken: _wait_taken,
    r.WaitPutBack: _wait_put_back,
    r.WaitAnswered: _wait_answered,
    r.AskOpened: _ask_opened,
    r.AskAnswered: _ask_answered,
}
"""What each of these records does."""
