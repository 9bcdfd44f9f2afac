"""An answer that was cut and is gone on with: its text kept as a message, and a note behind it that asks for the rest.

Both carry a mark in their metadata, which no model ever sees. A kept text is no whole answer: it is no step, and
nothing that counts answers counts it. The note is nobody's input; who shows a transcript may hide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lousho_cli.domain.messages import Message, Reasoning
from lousho_cli.domain.texts import CONTINUE_NOTE

CUT_OFF = {"cutOff": True}
SYNTHETIC = {"synthetic": "continue"}


def continuation(text: str, notes: Sequence[str] | None = None, reasoning: Iterable[Reasoning] = ()) -> tuple[Message, ...]:
    """The messages that have a model go on with an answer that was cut after ``text``; nothing where there is nothing to keep.

    Of its finished ``reasoning`` those blocks are kept that a server takes back: signed or redacted ones.
    """
    kept = tuple(block for block in reasoning if block.signature or block.redacted)
    if not text.strip() and not kept:
        return ()
    asking = [Message(role="user", content=note, metadata=dict(SYNTHETIC)) for note in notes or (CONTINUE_NOTE,)]
    return (Message(role="assistant", content=text if text.strip() else "", reasoning=kept, metadata=dict(CUT_OFF)), *asking)


def is_cut_off(message: Message) -> bool:
    """Whether it is the kept text of an answer that was cut."""
    return message.metadata is not None and message.role == "assistant" and message.metadata.get("cutOff") is True


def is_synthetic(message: Message) -> bool:
    """Whether it is a note of ours, and nobody's input."""
    return message.metadata is not None and message.role == "user" and message.metadata.get("synthetic") == "continue"


def count_answers(messages: Iterable[Message]) -> int:
    """How many whole answers of the model there are."""
    return sum(message.role == "assistant" and not is_cut_off(message) for message in messages)


def joined(messages: Iterable[Message]) -> list[Message]:
    """The messages as somebody saw them: an answer that was cut is one with its rest, and our notes are left out."""
    seen: list[Message] = []
    kept = ""
    for message in messages:
        if is_cut_off(message):
            kept += message.text
            continue
        if is_synthetic(message):
            continue
        if kept and message.role == "assistant":
            message = msgspec.structs.replace(message, content=kept + message.text)
        elif kept:
            seen.append(Message(role="assistant", content=kept))
        kept = ""
        seen.append(message)
    return [*seen, Message(role="assistant", content=kept)] if kept else seen
