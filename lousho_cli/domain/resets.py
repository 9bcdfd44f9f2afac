"""The marker of a reset: from it on the model sees only what follows; the transcript keeps everything."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.domain.messages import Message


def reset_marker(note: str | None = None) -> Message:
    """The message that marks a reset. Its text is the note that the model still sees; a blank one is none."""
    return Message(role="user", content=(note or "").strip(), metadata={"reset": True})


def is_reset(message: Message) -> bool:
    """Whether a message marks a reset."""
    return message.metadata is not None and message.role == "user" and message.metadata.get("reset") is True


def seen_from(messages: Sequence[Message], begin: int = 0) -> int:
    """The place of the first message that the model sees behind the newest reset; 0 where there was none behind ``begin``."""
    for index in range(len(messages) - 1, begin - 1, -1):
        if is_reset(messages[index]):
            return index if messages[index].text else index + 1
    return 0


def seen(messages: Sequence[Message], start: int) -> Sequence[Message]:
    """What the model sees of a transcript whose earlier talk ends before ``start``: the instructions stay."""
    if not start:
        return messages
    system = [message for message in messages[:1] if message.role == "system"]
    return [*system, *messages[start:]]
