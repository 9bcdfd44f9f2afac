"""Messages made of blocks, as Anthropic's wire has them: in message lists and in the lines of Claude Code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, Reasoning, TextPart, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.interchange.reading.fields import listed, mapping, text, whole, written

FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a content; a text is one block, and what is no block is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in listed(content) if isinstance(block, dict)]


def answer_of(blocks: Iterable[dict[str, Any]], metadata: dict[str, Any] | None = None) -> Message:
    """An answer: its texts, its calls, its thinking. Blocks of other kinds are kept as data."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    thoughts: list[Reasoning] = []
    others: list[dict[str, Any]] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            texts.append(text(block.get("text")))
        elif kind == "tool_use":
            calls.append(ToolCall(text(block.get("id")), text(block.get("name")), written(block.get("input", {}))))
        elif kind == "thinking":
            thoughts.append(Reasoning(text(block.get("thinking")), text(block.get("signature")) or None))
        elif kind == "redacted_thinking":
            thoughts.append(Reasoning(redacted=text(block.get("data"))))
        else:
            others.append(block)
    said = "\n\n".join(one for one in texts if one)
    kept = {**(metadata or {}), "blocks": others} if others else metadata
    return Message("assistant", said, tuple(calls), reasoning=tuple(thoughts), metadata=kept)


def said_by_user(blocks: Iterable[dict[str, Any]], metadata: dict[str, Any] | None = None) -> list[Message]:
    """The results in a user's blocks, each a message, then what the user says, where that is anything."""
    results: list[Message] = []
    parts: list[Part] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            results.append(result_of(block))
        else:
            parts.append(part_of(block))
    if not parts:
        return results
    plain = all(isinstance(part, TextPart) for part in parts)
    content = "\n".join(part.text for part in parts if isinstance(part, TextPart)) if plain else tuple(parts)
    return [*results, Message("user", content, metadata=metadata)]


def result_of(block: dict[str, Any]) -> Message:
    """A result; one of texts alone is their text, any other its JSON."""
    content = block.get("content", "")
    blocks = listed(content)
    if blocks and all(isinstance(one, dict) and one.get("type") == "text" and isinstance(one.get("text"), str) for one in blocks):
        content = "\n".join(one["text"] for one in blocks)
    return Message("tool", written(content), tool_call_id=text(block.get("tool_use_id")), is_error=block.get("is_error") is True)


def part_of(block: dict[str, Any]) -> Part:
    """A block of a user: text, an image, a file; any other as its JSON text."""
    kind, source = block.get("type"), mapping(block.get("source"))
    data, mime = text(source.get("data")) or text(source.get("url")), text(source.get("media_type"))
    if kind == "text":
        return TextPart(text(block.get("text")))
    if kind == "image" and data:
        return ImagePart(data, mime or None)
    if kind == "document" and source.get("type") == "base64" and mime:
        return FilePart(data, mime, text(block.get("title")) or None)
    return TextPart(written(block))


def usage_of(value: Any) -> CallUsage | None:
    """What a call used, all that went in counted together; None where nothing is said."""
    known = mapping(value)
    fresh, out = whole(known.get("input_tokens")), whole(known.get("output_tokens"))
    if fresh is None and out is None:
        return None
    read, wrote = whole(known.get("cache_read_input_tokens")), whole(known.get("cache_creation_input_tokens"))
    given_in = None if fresh is None else fresh + (read or 0) + (wrote or 0)
    return CallUsage(given_in, out, read, cache_write_tokens=wrote)
