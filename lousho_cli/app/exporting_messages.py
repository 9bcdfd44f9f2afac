"""A transcript as the message lists of two wires: exactly what a run would send there, made by the same code."""

from __future__ import annotations

from typing import Any

from lousho_cli.core.transcript import repair
from lousho_cli.domain.messages import Message, TextPart
from lousho_cli.interchange.writing.subject import Subject

Left = tuple[str, ...]
"""What is not in a list, or was put into it, in words."""

_LEAD_ONLY = "{} of sub-agents {} left out, as a list of messages is of one agent; jsonl, atif, markdown and html have them"


def openai_messages(subject: Subject) -> tuple[list[dict[str, Any]], Left]:
    """The messages of a chat-completions call."""
    from lousho_cli.providers.chat.dialects import DIALECTS
    from lousho_cli.providers.chat.request import Form, wire_message

    messages, left = _sendable(subject)
    form = Form(dialect=DIALECTS["openai"], wire="")
    wire = [one for message in messages if (one := wire_message(message, form)) is not None]
    pictures = sum(not isinstance(part, TextPart) for message in messages if message.role != "user" for part in _parts(message))
    if pictures:
        left = (*left, f"{pictures} pictures and files of tools are left out, as this wire takes them of users alone")
    return wire, left


def anthropic_messages(subject: Subject) -> tuple[dict[str, Any], Left]:
    """``messages`` of a Messages call, and its ``system`` where there is any."""
    from lousho_cli.providers.anthropic.turns import turns_of

    messages, left = _sendable(subject)
    first = next((message.role for message in messages if message.role != "system"), None)
    if first not in {"user", None}:
        left = (*left, "the user's turn in front is not of the session: this wire begins with one")
    system = "\n\n".join(message.text for message in messages if message.role == "system" and message.text.strip())
    turns = [turn.on_wire() for turn in turns_of(messages)] if first is not None else []
    return {**({"system": system} if system else {}), "messages": turns}, left


def _parts(message: Message) -> tuple[Any, ...]:
    return () if isinstance(message.content, str) else message.content


def _sendable(subject: Subject) -> tuple[tuple[Message, ...], Left]:
    """The transcript with each call answered, and in words what that took."""
    session = subject.session
    behind = session.turn.results.values() if session.turn else ()
    messages, mended = repair((*session.messages, *behind, *session.held))
    left = [f"the list is whole only with this: {said}" for said in mended]
    if subject.subagents:
        many = len(subject.subagents) != 1
        left.append(_LEAD_ONLY.format(f"{len(subject.subagents)} transcript{'s' if many else ''}", "are" if many else "is"))
    return messages, tuple(left)
