"""The part of ``core.heads`` about inputs: what each record of one does to the head that is brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lousho_cli.core.open_turns import arrived
from lousho_cli.domain import records as r


def _input_received(d: Any, record: r.InputReceived, _batch: r.Batch) -> None:
    if record.id not in d.waiting:
        d.waiting[record.id] = arrived(record.messages)


def _input_applied(d: Any, record: r.InputApplied, _batch: r.Batch) -> bool:
    new = d.waiting.pop(record.id, None)
    if new is None:
        return True
    if new.history:
        if not new.alone and d.messages:
            return False
        d.calls, d.results, d.held, d.children = new.calls, new.results, new.held, {}
    elif d.calls:
        d.held += new.messages
    d.messages += new.messages
    return True


def _input_settled(d: Any, record: r.InputSettled, _batch: r.Batch) -> None:
    d.waiting.pop(record.id, None)
    d.outcome, d.error = record.outcome, record.error


def _input_gone(d: Any, record: r.InputTakenBack | r.InputRejected, _batch: r.Batch) -> None:
    d.waiting.pop(record.id, None)


def _appended(d: Any, record: r.Appended, _batch: r.Batch) -> None:
    said = sum(message.role == "user" for message in record.messages)
    d.messages += said
    d.held += said if d.calls else 0


INPUTS: dict[type, Callable[[Any, Any, r.Batch], bool | None]] = {
    r.InputReceived: _input_received,
    r.InputApplied: _input_applied,
    r.InputTakenBack: _input_gone,
    r.InputRejected: _input_gone,
    r.InputSettled: _input_settled,
    r.Appended: _appended,
}
"""What each does, to a ``heads._Draft``; False where only the transcript can tell."""
