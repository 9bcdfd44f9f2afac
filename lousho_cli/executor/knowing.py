"""What a driver knows of its transcript without reading it again at each step: tokens, and the ids of its calls."""

from __future__ import annotations

from lousho_cli.domain.messages import Message
from lousho_cli.domain.resets import is_reset
from lousho_cli.domain.shared import Shared


def tokens_of(message: Message) -> int:
    """A rough count of a message's tokens, for a provider that reports none: four characters each."""
    content = message.content
    characters = len(content if type(content) is str else message.text)
    for call in message.tool_calls:
        characters += len(call.name) + len(call.arguments)
    return -(-characters // 4)


class Known:
    """Added up as the transcript grows; a transcript that was rewritten is read once more.

    call_ids: those of all its calls. seen_from: the first message that the model sees, instructions aside; 0 where it sees all.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.call_ids: set[str] = set()
        self._messages: Shared[Message] = Shared()
        self._end = self.seen_from = 0
        self._reset: tuple[int, Message] | None = None
        self._tokens = self._weighed = 0  # what the messages before this one weigh, those aside that a reset hides

    def catch_up(self, messages: Shared[Message]) -> None:
        """Takes in what came since the last time."""
        end, reset = len(messages), self._reset
        if self._end > end or (reset is not None and messages[reset[0]] is not reset[1]):
            self._forget()
        for index, message in enumerate(messages.behind(self._end), self._end):
            if message.role == "user" and is_reset(message):
                self._reset, self.seen_from = (index, message), index + (not message.text)
            for call in message.tool_calls:
                self.call_ids.add(call.id)
        self._messages, self._end = messages, end

    @property
    def tokens(self) -> int:
        """Those of what the model sees; counted when they are asked for, as most providers report their own."""
        messages = self._messages
        if self._reset is not None and self._weighed <= self._reset[0]:
            self._tokens, self._weighed = (tokens_of(messages[0]) if messages[0].role == "system" else 0), self._reset[0]
        for message in messages.behind(self._weighed):
            self._tokens += tokens_of(message)
        self._weighed = self._end
        return self._tokens
