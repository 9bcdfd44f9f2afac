"""The ids of calls as this wire allows them."""

from __future__ import annotations

from lousho_cli.domain.messages import ToolCall
from lousho_cli.providers.wire.calls import unique_id, wire_word


class CallIds:
    """The ids of a transcript's calls, in its order: valid on this wire and each used once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._now: dict[str, str] = {}

    def begin(self, calls: tuple[ToolCall, ...]) -> None:
        """Goes on to the next answer: its calls, whose results come next."""
        self._now = {}
        for call in calls:
            self._now[call.id] = unique_id(wire_word(call.id), self._taken)  # some servers count from 0 in each answer
            self._taken.add(self._now[call.id])

    def of(self, call_id: str) -> str:
        """The id of a call of this answer."""
        return self._now.get(call_id) or wire_word(call_id)
