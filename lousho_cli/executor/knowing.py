"""What a driver knows of its transcript without reading it again at each step: tokens, and the ids of its calls."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.domain.messages import Message
from lousho_cli.domain.resets import is_reset


def tokens_of(message: Message) -> int:
    """A rough count of a message's tokens, for a provider that reports none: four characters each."""
    characters = len(message.text)
    for call in message.tool_calls:
        characters += len(call.name) + len(call.arguments)
    return -(-characters // 4)


class Known:
    """Added up as the transcript grows; a transcript that was rewritten is read once more."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.tokens = 0
        self.call_ids: set[str] = set()
        self._counted = 0
        self._reset: tuple[int, Message] | None = None

    def catch_up(self, messages: Sequence[Message]) -> None:
        """Takes in what came since the last time."""
        if self._counted > len(messages) or (self._reset is not None and messages[self._reset[0]] is not self._reset[1]):
            self._forget()
        for index in range(self._counted, len(messages)):
            message = messages[index]
            if is_reset(message):
                self._reset, self.tokens = (index, message), tokens_of(messages[0]) if messages[0].role == "system" else 0
            self.tokens += tokens_of(message)
            for call in message.tool_calls:
                self.call_ids.add(call.id)
        self._counted = len(messages)

    @property
    def seen_from(self) -> int:
        """The first message that the model sees, instructions aside; 0 where it sees all."""
        return 0 if self._reset is None else self._reset[0] + (not self._reset[1].text)
