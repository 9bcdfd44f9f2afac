"""Messages as OpenAI's chat wire has them. SWE-agent, mini-swe-agent and Inspect keep theirs nearly so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lousho_cli.domain.messages import Message, Reasoning, Role, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.interchange.reading.fields import listed, mapping, subset, text, time, usage, written
from lousho_cli.interchange.reading.items import content_of
from lousho_cli.interchange.reading.values import BadLine, Entry

_ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_KEPT = ("id", "name", "agent", "message_type")


def is_message(value: Any) -> bool:
    """Whether a value is a message: it has a role and says or asks something."""
    return (
        isinstance(value, dict) and isinstance(value.get("role"), str) and bool(value.keys() & {"content", "tool_calls", "function_call"})
    )


def entries_of(messages: Iterable[Any], model: str = "") -> tuple[list[Entry], list[BadLine]]:
    """The entries of a list of messages, and those of it that are none."""
    found: list[Entry] = []
    bad: list[BadLine] = []
    for place, value in enumerate(messages, 1):
        if not is_message(value):
            bad.append(BadLine(place, "it is no message: it has no role, or no content"))
            continue
        found.extend(_entries(value, place, model))
    return found, bad


def _entries(value: dict[str, Any], place: int, model: str) -> Iterator[Entry]:
    role = value["role"]
    at = time(value.get("timestamp") or value.get("created_at") or mapping(value.get("extra")).get("timestamp"))
    original = subset(value, _KEPT)
    metadata = {"original": original} if original else None
    if role in ("tool", "function"):
        ids = [one for one in listed(value.get("tool_call_ids")) if isinstance(one, str)]
        call_id = text(value.get("tool_call_id")) or (ids[0] if ids else "") or (text(value.get("name")) if role == "function" else "")
        failed = bool(value.get("is_error")) or bool(value.get("error"))
        yield Entry(Message("tool", _plain(value.get("content")), tool_call_id=call_id, is_error=failed), at, place)
    elif _ROLES.get(role) == "assistant":
        yield _answer(value, at, place, model, metadata)
    else:
        known: Role = "system" if _ROLES.get(role) == "system" else "user"
        yield Entry(Message(known, content_of(value.get("content")), metadata=metadata), at, place)


def _answer(value: dict[str, Any], at: str, place: int, model: str, metadata: dict[str, Any] | None) -> Entry:
    calls = [_call(one) for one in listed(value.get("tool_calls")) if isinstance(one, dict)]
    old = value.get("function_call")
    if isinstance(old, dict) and not calls:
        calls = [ToolCall(text(old.get("name")), text(old.get("name")), written(old.get("arguments", "{}")))]
    thought = text(value.get("reasoning_content")) or text(value.get("reasoning"))
    said, inner = _said(value.get("content"))
    thoughts = tuple(Reasoning(one) for one in (thought, *inner) if one)
    reply = mapping(mapping(value.get("extra")).get("response"))
    used = used_by(reply.get("usage") or value.get("usage"))
    said = "\n\n".join(filter(None, (said, text(value.get("refusal")), text(mapping(value.get("audio")).get("transcript")))))
    message = Message("assistant", said, tuple(calls), reasoning=thoughts, metadata=metadata)
    return Entry(message, at, place, text(value.get("model")) or text(reply.get("model")) or model, used)


def _said(content: Any) -> tuple[str, list[str]]:
    """The text of an answer's content, and the reasoning that stands among it."""
    parts = [part for part in listed(content) if isinstance(part, dict)]
    thoughts = [text(part.get("reasoning")) for part in parts if part.get("type") == "reasoning"]
    return _plain([part for part in parts if part.get("type") != "reasoning"] if parts else content), thoughts


def _call(value: dict[str, Any]) -> ToolCall:
    custom = value.get("custom")
    if isinstance(custom, dict):
        return ToolCall(text(value.get("id")), text(custom.get("name")), written(custom.get("input", "")))
    inner = value.get("function")
    source = inner if isinstance(inner, dict) else value
    name = text(source.get("name")) or text(inner)
    return ToolCall(text(value.get("id")), name, written(source.get("arguments", "{}")))


def used_by(value: Any) -> CallUsage | None:
    """What a call used, in the words of either of OpenAI's wires."""
    known = mapping(value)
    details = mapping(known.get("prompt_tokens_details")) or mapping(known.get("input_tokens_details"))
    thought = mapping(known.get("completion_tokens_details")) or mapping(known.get("output_tokens_details"))
    cached = details.get("cached_tokens")
    return usage(known, ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"), cached, thought.get("reasoning_tokens"))


def _plain(content: Any) -> str:
    said = content_of(content)
    return said if isinstance(said, str) else written(content)
