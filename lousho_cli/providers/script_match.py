"""Whether an entry of a script applies to a transcript. Reads backwards, and only as far as it must."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lousho_cli.domain.messages import Message
from lousho_cli.providers.script import When


def holds(when: When, messages: Sequence[Message]) -> bool:
    """Whether every condition holds for the newest messages."""
    if when.tool is not None:
        newest = _newest_result(messages, when.tool)
        if newest is None or (when.contains is not None and not _says(newest.text, when.contains)):
            return False
    if when.user is not None:
        asked = next((message for message in reversed(messages) if message.role == "user"), None)
        if asked is None or when.user not in asked.text:
            return False
    return all(_has_result(messages, call_id, expected) for call_id, expected in when.result)


def _newest_result(messages: Sequence[Message], tool: str) -> Message | None:
    """The newest result of a tool, in the order of the transcript."""
    nameless: dict[str, Message] = {}  # results that only their call can name, newest kept
    for message in reversed(messages):
        if message.role == "tool":
            if message.tool_name == tool:
                return message
            if message.tool_name is None:
                nameless.setdefault(message.tool_call_id or "", message)
        elif message.role == "assistant" and nameless:
            named = [nameless[call.id] for call in message.tool_calls if call.name == tool and call.id in nameless]
            if named:
                return named[-1]
            nameless.clear()
    return None


def _says(text: str, wanted: str) -> bool:
    """Whether a result has a text in it: in its JSON, or in one of its strings, where quotes and the like are not escaped."""
    if wanted in text:
        return True
    return "\\" in text and any(wanted in leaf for leaf in _strings(_value(text)))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    return [leaf for item in value for leaf in _strings(item)] if isinstance(value, list) else []


def _has_result(messages: Sequence[Message], call_id: str, expected: Any) -> bool:
    result = next((message for message in reversed(messages) if message.role == "tool" and message.tool_call_id == call_id), None)
    return result is not None and _same(_value(result.text), expected)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
