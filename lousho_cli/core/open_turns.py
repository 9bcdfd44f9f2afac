"""A list of messages as a transcript and, where its last turn lacks results, that turn held open."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.core.transcript import split_open_turn
from lousho_cli.domain.heads import Arrived
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import OpenTurn, Session


def open_turn(messages: Sequence[Message]) -> tuple[tuple[Message, ...], OpenTurn | None, tuple[Message, ...]]:
    """Takes messages as stored apart: transcript, open turn, input held behind it.

    Results of the last turn stand in the transcript as far as they follow it in call order
    without a gap, the others wait in the open turn. With every call answered there is no open
    turn and nothing is held: the held input stands in the transcript.
    """
    before, unanswered, results, held = split_open_turn(messages)
    if not unanswered:
        return (*before, *results.values(), *held), None, ()
    calls = before[-1].tool_calls
    done = calls.index(unanswered[0])
    transcript = (*before, *(results[call.id] for call in calls[:done]))
    early = {call.id: results[call.id] for call in calls[done:] if call.id in results}
    return transcript, OpenTurn(calls, done, early), held


def behind_the_transcript(session: Session) -> tuple[Message, ...]:
    """What ``open_turn`` takes apart again: results that came before those in front of them, in call order, and input that waits behind."""
    turn = session.turn
    early = [turn.results[call.id] for call in turn.calls if call.id in turn.results] if turn else ()
    return (*early, *session.held, *(message for i in session.joining for message in session.inputs[i].messages))


def arrived(messages: Sequence[Message]) -> Arrived:
    """What an input will add once it is applied."""
    roles = {message.role for message in messages}
    if not roles & {"assistant", "tool"}:
        return Arrived(len(messages))
    if "assistant" not in roles:
        return Arrived(len(messages), history=True, alone=False)
    transcript, turn, held = open_turn(messages)
    if turn is None:
        return Arrived(len(transcript), history=True)
    calls = tuple(call.id for call in turn.calls[turn.done :])
    total = len(transcript) + len(turn.results) + len(held)
    return Arrived(total, history=True, calls=calls, results=tuple(turn.results), held=len(held))
