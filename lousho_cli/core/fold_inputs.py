"""The part of ``core.fold`` about inputs: received, moved, applied, rejected, settled, appended, and how they enter the transcript."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.open_turns import open_turn
from lousho_cli.core.recognise import digest_input
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import count_answers
from lousho_cli.domain.messages import Message
from lousho_cli.domain.resets import is_reset
from lousho_cli.domain.session import InputState


def _received(f: Accumulator, record: r.InputReceived, _batch: r.Batch) -> None:
    if record.id in f.inputs:
        return
    state = InputState(
        digest=digest_input(record.messages), by=record.by, messages=record.messages, joins=record.joins, overrides=record.overrides
    )
    f.put_input(record.id, state)
    f.waiting = (*f.waiting, record.id)


def _moved(f: Accumulator, record: r.InputMoved, _batch: r.Batch) -> None:
    known = f.inputs.get(record.id)
    if known is not None and known.status == "received":
        f.put_input(record.id, msgspec.structs.replace(known, joins=record.joins))


def _applied(f: Accumulator, record: r.InputApplied, _batch: r.Batch) -> None:
    known = f.inputs.get(record.id)
    if known is None or known.status != "received":
        return
    if resets(known):  # no run answers it: it is done with being there
        f.put_input(record.id, InputState(known.digest, known.by, "settled", "completed"))
    else:
        turn = f.active[0] if f.active else record.id
        span = f.inputs[turn].span or (len(f.messages), 0)
        state = InputState(known.digest, known.by, "applied", overrides=known.overrides, operation=turn, span=span)
        f.put_input(record.id, state)
        f.active = (*f.active, record.id)
    _waits_no_more(f, record.id)
    _append(f, known.messages)


def resets(known: InputState) -> bool:
    """Whether an input is no message for the model but the wish to begin its talk afresh."""
    return len(known.messages) == 1 and is_reset(known.messages[0])


def _appended(f: Accumulator, record: r.Appended, _batch: r.Batch) -> None:
    if record.id not in f.inputs:
        f.put_input(record.id, InputState(record.digest, record.by, "settled", "completed"))
        _append(f, [message for message in record.messages if message.role == "user"])


def _command_ended(f: Accumulator, record: r.CommandEnded, _batch: r.Batch) -> None:
    if record.id not in f.inputs:
        outcome: r.Outcome = "completed" if record.error is None else "failed"
        f.put_input(record.id, InputState("", None, "settled", outcome, record.error, code=record.code))


def _append(f: Accumulator, messages: Sequence[Message]) -> None:
    if any(message.role in {"assistant", "tool"} for message in messages):
        put_transcript(f, [*f.messages, *f.results.values(), *f.held, *messages])  # a whole history was handed in
    elif f.calls:
        f.held = (*f.held, *messages)
    else:
        f.messages.extend(messages)


def _rejected(f: Accumulator, record: r.InputRejected, _batch: r.Batch) -> None:
    known = f.inputs.get(record.id)
    if known is None or known.status == "received":
        digest, by = (known.digest, known.by) if known else ("", None)
        f.put_input(record.id, InputState(digest, by, "rejected", error=record.reason))
        _waits_no_more(f, record.id)


def _taken_back(f: Accumulator, record: r.InputTakenBack, _batch: r.Batch) -> None:
    known = f.inputs.get(record.id)
    if known is not None and known.status == "received":
        f.put_input(record.id, InputState(known.digest, known.by, "settled", "aborted"))
        _waits_no_more(f, record.id)


def _settled(f: Accumulator, record: r.InputSettled, _batch: r.Batch) -> None:
    known = f.inputs.get(record.id)
    if known is not None:
        span = (known.span[0], len(f.messages)) if known.span is not None else None
        turn = known.operation
        state = InputState(known.digest, known.by, "settled", record.outcome, record.error, code=record.code, operation=turn, span=span)
        f.put_input(record.id, state)
        if known.status == "received":
            _waits_no_more(f, record.id)
    f.active = tuple(i for i in f.active if i != record.id)
    f.outcome, f.error, f.error_code = record.outcome, record.error, record.code
    f.abort_asked = False


def _waits_no_more(f: Accumulator, input_id: str) -> None:
    if f.waiting[:1] == (input_id,):  # as a rule: the one that has waited longest
        f.waiting = f.waiting[1:]
    elif input_id in f.waiting:
        f.waiting = tuple(i for i in f.waiting if i != input_id)


def put_transcript(f: Accumulator, messages: Sequence[Message]) -> None:
    """Makes ``messages`` the transcript, with the turn they end in open where calls lack a result."""
    transcript, turn, f.held = open_turn(messages)
    f.put_messages(transcript)
    f.turns = count_answers(transcript)
    f.put_turn(turn)


INPUTS: dict[type, Callable[[Accumulator, Any, r.Batch], None]] = {
    r.InputReceived: _received,
    r.InputMoved: _moved,
    r.InputApplied: _applied,
    r.InputTakenBack: _taken_back,
    r.InputRejected: _rejected,
    r.InputSettled: _settled,
    r.Appended: _appended,
    r.CommandEnded: _command_ended,
}
"""What each record of an input does."""
