"""Items as OpenAI's Responses wire has them: messages, calls, results and reasoning, each by itself. So Codex keeps them too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, Role, TextPart, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.interchange.reading.fields import listed, mapping, text, written
from lousho_cli.interchange.reading.values import Entry

CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action", "mcp_approval_request": "arguments"}
"""The kinds of calls, and the field that holds what they were called with."""

RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "computer_call_output")
_TEXTS = ("text", "input_text", "output_text", "summary_text", "refusal")


def is_item(value: Any) -> bool:
    """Whether a value is an item that has a kind of its own, or a message of parts as items have them."""
    if not isinstance(value, dict):
        return False
    kind = text(value.get("type"))
    if kind in CALLS or kind in RESULTS or kind == "reasoning":
        return True
    parts = listed(value.get("content"))
    return kind == "message" or any(isinstance(part, dict) and part.get("type") in ("input_text", "output_text") for part in parts)


class Items:
    """Takes items in their order and gives entries: those of one answer are one entry.

    An answer ends where a result or a user's message comes, where its id changes, and with ``cut``.
    """

    def __init__(self) -> None:
        self.model = ""
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._others: list[dict[str, Any]] = []
        self._place = 0
        self._at = ""

    def take(self, item: dict[str, Any], at: str, place: int) -> Iterator[Entry]:
        """What one more item completes. One of a kind that is no part of a talk is kept with its answer as data."""
        kind = text(item.get("type"))
        if kind in RESULTS:
            yield from self.cut()
            output = item.get("output", "")
            yield Entry(Message("tool", _result(output), tool_call_id=_call_id(item), is_error=_failed(item)), at, place)
        elif kind in CALLS:
            self._begin(at, place)
            arguments = written(item.get(CALLS[kind], {}))
            self._calls.append(ToolCall(_call_id(item), text(item.get("name")) or kind, arguments))
        elif kind == "message" or "role" in item:
            yield from self._message(item, at, place)
        else:
            self._begin(at, place)
            self._others.append(item)

    def _message(self, item: dict[str, Any], at: str, place: int) -> Iterator[Entry]:
        role = item.get("role")
        if role != "assistant":
            yield from self.cut()
            known: Role = "system" if role in ("system", "developer") else "user"
            yield Entry(Message(known, content_of(item.get("content"))), at, place)
            return
        if self._texts and not self._calls:
            yield from self.cut()
        self._begin(at, place)
        self._texts.append(_text(item.get("content")))

    def _begin(self, at: str, place: int) -> None:
        if not self._place:
            self._place = place
        self._at = at or self._at

    def cut(self, usage: CallUsage | None = None) -> Iterator[Entry]:
        """Ends the answer that is being put together, and gives it; nothing where there is none.

        What neither says nor asks anything is no answer yet: it stays, for the one that follows.

        Args:
            usage: what it used.
        """
        if not self._texts and not self._calls:
            return
        kept = {"items": self._others} if self._others else None
        message = Message("assistant", "\n\n".join(filter(None, self._texts)), tuple(self._calls), metadata=kept)
        yield Entry(message, self._at, self._place, self.model, usage)
        self._texts, self._calls, self._others, self._place, self._at = [], [], [], 0, ""

    @property
    def open(self) -> bool:
        """Whether an answer is being put together."""
        return bool(self._place)


def content_of(content: Any) -> str | tuple[Part, ...]:
    """What a user says: the text where it is texts alone, else its parts."""
    if not isinstance(content, list):
        return "" if content is None else written(content)
    parts = tuple(_part(one) for one in content)
    if all(isinstance(part, TextPart) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return parts


def _part(value: Any) -> Part:
    part = mapping(value)
    kind = part.get("type")
    if kind in _TEXTS:
        return TextPart(text(part.get("text")) or text(part.get("refusal")))
    picture = part.get("image_url", part.get("image"))
    address = text(mapping(picture).get("url")) or text(picture)
    if address:
        return ImagePart(address)
    file = mapping(part.get("file")) or part
    if text(file.get("file_data")):
        return FilePart(text(file["file_data"]), "application/octet-stream", text(file.get("filename")) or None)
    return TextPart(written(value))


def _text(content: Any) -> str:
    said = content_of(content)
    return said if isinstance(said, str) else "\n".join(part.text if isinstance(part, TextPart) else written(part) for part in said)


def _result(output: Any) -> str:
    if isinstance(output, list) and output and all(isinstance(one, dict) and one.get("type") in _TEXTS for one in output):
        return "\n".join(text(one.get("text")) for one in output)
    return written(output)


def _call_id(item: dict[str, Any]) -> str:
    return text(item.get("call_id")) or text(item.get("id"))


def _failed(item: dict[str, Any]) -> bool:
    return item.get("status") == "failed" or item.get("is_error") is True
