"""What is told of an input that has come to its end, or whose turn stopped for a person: the same from any log, at any time."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.domain.cut_answers import joined
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import InputState, Session


def text_of_turn(session: Session, state: InputState) -> str:
    """The text of the turn that an input was settled with.

    Where it answered what came meanwhile too, that is each of its answers, a blank line between two; else what the model said last.
    """
    if state.span is None:
        return ""
    start, end = state.span
    return answers_in(session.messages[start:end])


def operation_of(session: Session) -> str:
    """The input whose turn it is that runs: the first of those it answers."""
    return session.active[0] if session.active else session.run.input_id


def answers_in(messages: Sequence[Message]) -> str:
    """The answers among the messages of one turn, as somebody reads them."""
    said = [message for message in joined(messages) if message.role == "assistant" and message.text]
    whole = [message.text for message in said if not message.tool_calls]
    return "\n\n".join(whole) if whole else (said[-1].text if said else "")
