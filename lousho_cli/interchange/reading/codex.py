"""Sessions of Codex: a rollout is JSON lines, each with a time, a type and a payload.

What was said stands twice, as an event for its screen and as an item for the model. The items are read; the events only where a file
has no items. Reasoning is kept as data beside its answer and is never sent on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from lousho_cli.domain.messages import Message
from lousho_cli.domain.usage import CallUsage
from lousho_cli.interchange.reading.fields import listed, mapping, subset, text, time, usage
from lousho_cli.interchange.reading.items import CALLS, RESULTS, Items
from lousho_cli.interchange.reading.lines import numbered, parsed
from lousho_cli.interchange.reading.values import BadLine, Entry, Lines, Source

KIND = "codex"

_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_SAID = {"user_message": "user", "agent_message": "assistant"}
_KEPT = ("cwd", "originator", "cli_version", "source", "model_provider", "git", "forked_from_id", "agent_nickname")


def recognises(value: dict[str, Any]) -> bool:
    """Whether an object is a line of it, of today's or of the first versions."""
    if value.get("type") in _TYPES and isinstance(value.get("payload"), dict):
        return True
    return set(value) >= {"id", "timestamp", "instructions"} and "type" not in value


def read(lines: Lines, name: str) -> list[Source]:
    """The session of a rollout; ``name`` is the file's, without its ending."""
    look = _Look(lines)
    return [
        Source(
            kind=KIND,
            id=look.id or name,
            agent=KIND,
            entries=lambda: _entries(lines, items=look.items, instructions=look.instructions),
            asked=look.asked,
            answered=look.answered,
            unit="line",
            details=look.details,
            bad=tuple(look.bad),
            skipped=dict(look.skipped),
        )
    ]


class _Look:
    """What one look over a rollout found. ``items``: whether it has messages that are no events."""

    def __init__(self, lines: Lines) -> None:
        self.id, self.instructions, self.items = "", "", False
        self.details: dict[str, Any] = {}
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.bad: list[BadLine] = []
        self.skipped: Counter[str] = Counter()
        for number, raw in numbered(lines()):
            try:
                kind, payload = _line(parsed(raw))
            except ValueError as error:
                self.bad.append(BadLine(number, str(error)))
                continue
            self._take(kind, payload)

    def _take(self, kind: str, payload: dict[str, Any]) -> None:
        if kind == "session_meta":
            if not self.id:
                self.id = text(payload.get("id"))
                self.instructions = text(mapping(payload.get("base_instructions")).get("text")) or text(payload.get("instructions"))
                self.details = subset(payload, _KEPT)
        elif kind == "response_item":
            inner, call_id = text(payload.get("type")), text(payload.get("call_id")) or text(payload.get("id"))
            self.items = self.items or inner == "message" or inner in CALLS
            self.asked[call_id] += inner in CALLS
            self.answered[call_id] += inner in RESULTS
        elif kind not in _TYPES:
            self.skipped[kind] += 1


def _line(value: Any) -> tuple[str, dict[str, Any]]:
    """The type and the payload of a line.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - what it holds is wrong
    payload = value.get("payload")
    if isinstance(payload, dict):
        kind = value.get("type")
        if not isinstance(kind, str):
            raise ValueError("it has no type")  # noqa: TRY004 - what it holds is wrong
        return kind, payload
    if payload is not None:
        raise ValueError("its payload is no object")
    if "type" in value or "role" in value:
        return "response_item", value
    return ("session_meta" if "id" in value else text(value.get("record_type")) or "state"), value


def _entries(lines: Lines, *, items: bool, instructions: str) -> Iterator[Entry]:
    rollout = _Rollout(items)
    if instructions:
        yield Entry(Message("system", instructions))
    for number, raw in numbered(lines()):
        try:
            value = parsed(raw)
            kind, payload = _line(value)
        except ValueError:
            continue  # it was named when the file was looked over
        yield from rollout.take(kind, payload, time(value.get("timestamp")), number)
    yield from rollout.answer.cut(rollout.used)


class _Rollout:
    """A rollout being read. ``used``: what the answer that is being put together used, as far as that was said."""

    def __init__(self, items: bool) -> None:
        self.answer = Items()
        self.used: CallUsage | None = None
        self._items = items

    def take(self, kind: str, payload: dict[str, Any], at: str, place: int) -> Iterator[Entry]:
        """What one more line completes."""
        inner = text(payload.get("type"))
        if kind == "turn_context":
            self.answer.model = text(payload.get("model")) or self.answer.model
        elif kind == "response_item":
            for entry in self.answer.take(payload, at, place):
                yield self._with_use(entry)
        elif kind == "event_msg" and inner == "token_count":
            info = mapping(mapping(payload.get("info")).get("last_token_usage"))
            self.used = _usage(info) if self.answer.open else None
        elif kind == "event_msg" and not self._items and inner in _SAID:
            item = {"type": "message", "role": _SAID[inner], "content": text(payload.get("message"))}
            yield from self.answer.take(item, at, place)
        elif kind == "compacted":
            yield from self.answer.cut(self.used)
            self.used = None
            yield Entry(Message("user", _summary(payload)), at, place, reset=True)

    def _with_use(self, entry: Entry) -> Entry:
        if entry.message.role != "assistant":
            return entry
        used, self.used = self.used, None
        return Entry(entry.message, entry.at, entry.place, entry.model, used, entry.finish)


def _usage(info: dict[str, Any]) -> CallUsage | None:
    return usage(info, ("input_tokens",), ("output_tokens",), info.get("cached_input_tokens"), info.get("reasoning_output_tokens"))


def _summary(payload: dict[str, Any]) -> str:
    """What the model still saw after the talk was made shorter."""
    said = text(payload.get("message"))
    if said:
        return said
    history = [mapping(item) for item in listed(payload.get("replacement_history"))]
    kept = [text(mapping(part).get("text")) for item in history for part in listed(item.get("content"))]
    return "\n\n".join(filter(None, kept))
