"""The records of a log as lines, for who looks on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lousho_cli.app.hostile_text import json_line, one_line
from lousho_cli.cli.output import Output

_NAMES = (
    "id",
    "tool",
    "step",
    "status",
    "finish_reason",
    "outcome",
    "code",
    "host",
    "attempt",
    "count",
    "agent",
    "model",
    "limit",
    "kind",
    "parent",
    "approved",
    "expired",
    "within",
)
"""Fields that say what happened without what was said."""

RESULT_WIDTH = 160
"""Characters of a result, or of a call's arguments, that a terminal shows."""


class RecordView:
    """Shows one record after the other.

    Args:
        content: whether texts, arguments and results are shown, or only what happened.
    """

    def __init__(self, out: Output, *, content: bool) -> None:
        self._out = out
        self._content = content
        self._streamed = ""

    def show(self, item: Any) -> None:
        """Its cursor, time and type, what happened, and below it what was said. Parts of an answer are joined."""
        kind = item.type.removeprefix("lousho.")
        if kind == "within":
            self._of_sub_agent(item)
            return
        if kind == "partial" and self._content and "within" not in item.record:
            self._part(item, item.record.get("text", ""))
            return
        streamed, self._streamed = self._streamed, ""
        if streamed and not streamed.endswith("\n"):
            self._out.line()
        self._head(item, kind)
        if self._content:
            for line in self._said(kind, item.record, streamed):
                self._out.line(f"    {line}")
        self._out.flush()

    def _of_sub_agent(self, item: Any) -> None:
        """A line for each record of a sub-agent, which says within which calls it stands."""
        calls = "/".join(map(str, item.record.get("calls", ())))
        for inner in item.record.get("records", ()):
            self.show(msgspec.structs.replace(item, type=str(inner.get("type", "")), record={**inner, "within": calls}))

    def _part(self, item: Any, text: str) -> None:
        if not self._streamed:
            self._head(item, "partial")
            self._out.piece("    ")
        self._streamed += text
        self._out.piece(text.replace("\n", "\n    "))

    def _head(self, item: Any, kind: str) -> None:
        at = item.at[11:19] if self._out.terminal else item.at
        self._out.line(f"{item.cursor.seq}.{item.cursor.index}  {at}  {kind:<16} {_facts(item.record)}".rstrip())

    def _said(self, kind: str, record: dict[str, Any], streamed: str) -> Iterator[str]:
        messages = [record["message"]] if isinstance(record.get("message"), dict) else record.get("messages", record.get("add", ()))
        for message in messages if isinstance(messages, (list, tuple)) else ():
            text = _text(message.get("content", ""))
            if text and text != streamed:  # what was shown as it came is not shown again
                yield from text.split("\n")
            for call in message.get("tool_calls", ()):
                yield f"-> {call.get('name')}({self._short(call.get('arguments', '{}'))})"
        approval = record.get("approval")
        if isinstance(approval, dict):
            question = approval.get("question")
            asked = question.get("text", "") if isinstance(question, dict) else ""
            yield asked or f"-> {approval.get('tool_name')}({self._short(json_line(approval.get('args')))})"
        if kind == "wait_answered" and record.get("args") is not None:
            yield f"arguments: {self._short(json_line(record['args']))}"
        if kind == "tool_finished":
            yield self._short(str(record.get("content", "")))
        for name in ("error", "note", "text", "reason"):
            if record.get(name) and isinstance(record[name], str):
                yield f"{name}: {record[name]}"

    def _short(self, text: str) -> str:
        return one_line(text, RESULT_WIDTH if self._out.terminal else None)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", f"<{part.get('type', 'part')}>") for part in content if isinstance(part, dict))


def _facts(record: dict[str, Any]) -> str:
    facts = [f"{name}={_word(record[name])}" for name in _NAMES if isinstance(record.get(name), (str, int))]
    message = record.get("message")
    if isinstance(message, dict):
        called = [str(call.get("name")) for call in message.get("tool_calls", ())]
        facts += [f"calls={','.join(called)}"] if called else []
    approval = record.get("approval")
    if isinstance(approval, dict):
        facts += [f"{name}={approval.get(name)}" for name in ("id", "tool_name")]
    if record.get("is_error"):
        facts.append("error")
    return " ".join(facts)


def _word(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
