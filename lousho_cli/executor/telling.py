"""Records to events: whoever watches is told what is written, and ``step.saved`` only once it is durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session
from lousho_cli.executor.events import Events


class Telling:
    """Tells one run's events, from where ``session`` stands."""

    def __init__(self, events: Events, session: Session) -> None:
        self._events = events
        self._names = {call.id: call.name for call in session.turn.calls} if session.turn else {}
        self._step = session.step

    def tell(self, batches: Sequence[r.Batch], *, durable: bool) -> None:
        """Tells what was just written."""
        if not self._events.wanted:
            return
        for batch in batches:
            for record in batch.records:
                self._record(record, batch.seq)
        if durable and batches:
            self._events.emit("step.saved", step=self._step or None, cursor=batches[-1].seq)

    def _record(self, record: Any, seq: int) -> None:
        emit, step = self._events.emit, self._step or None
        match record:
            case r.Turn():
                self._step += 1
                self._names = {call.id: call.name for call in record.message.tool_calls}
                emit("step.done", step=self._step, cursor=seq, **_turn(record))
            case r.RunStarted():
                self._step = 0
            case r.Mark():
                self._step = record.step
            case r.ToolStarted():
                emit("tool.start", step=step, cursor=seq, id=record.id, name=self._names.get(record.id))
            case r.ToolFinished():
                kind = "tool.error" if record.is_error else "tool.done"
                emit(kind, step=step, cursor=seq, id=record.id, name=self._names.get(record.id), content=record.content)
            case r.WaitOpened():
                emit("approval.requested", step=step, cursor=seq, approval=msgspec.to_builtins(record.approval))
            case r.ModelRetry():
                emit("provider.retry", step=step, cursor=seq, count=record.count, error=record.error, wait_ms=record.wait_ms)
            case r.InputReceived():
                emit("input.queued", cursor=seq, input_id=record.id)
            case _:
                pass


def _turn(record: r.Turn) -> dict[str, Any]:
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in record.message.tool_calls]
    used = msgspec.to_builtins(record.usage) if record.usage else None
    return {"text": record.message.text, "tool_calls": calls, "finish_reason": record.finish_reason, "usage": used}
