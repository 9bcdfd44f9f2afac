"""A transcript as nodes: messages with their texts, and below each call its arguments and its result. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from lousho_cli.app.showing import Shown, ShownMessage
from lousho_cli.tui.state.json_tree import json_node, parsed
from lousho_cli.tui.state.outline import Node, Tone
from lousho_cli.tui.state.paging import blocks_of, size_of, text_nodes

_IN_SHORT = 60


class _Drawing:
    """What is known of a transcript while its messages are made into nodes: the results by call, and the call that waits.

    Its two functions make what is below a message and below a call. They are made once: thousands of nodes share them.
    """

    def __init__(self, results: dict[str, ShownMessage], waits: str | None, *, raw: bool) -> None:
        self.results, self.waits, self.raw = results, waits, raw
        self.of_message: Callable[[tuple[str, ShownMessage]], Sequence[Node]] = lambda of: tuple(_body(*of, self))
        self.of_call: Callable[[tuple[str, Any]], Sequence[Node]] = lambda of: tuple(_in_call(*of, self))


def transcript(shown: Shown, start: int = 0, *, raw: bool = False) -> tuple[Node, ...]:
    """The messages of a checkpoint, from the ``start``-th on. ``raw``: texts as they were written, Markdown and JSON too.

    A result stands below its call, wherever that is; one whose call is not among them stands for itself.
    """
    messages = shown.messages
    results = {message.tool_call_id: message for message in messages if message.role == "tool" and message.tool_call_id is not None}
    called = {call.id for message in messages[start:] for call in message.tool_calls}
    waits = shown.waits_for.tool_call_id if shown.waits_for is not None else None
    known = _Drawing(results, waits, raw=raw)
    return tuple(
        _message(number, message, known)
        for number, message in enumerate(messages[start:], start)
        if not (message.role == "tool" and message.tool_call_id in called)
    )


def _message(number: int, message: ShownMessage, known: _Drawing) -> Node:
    key = f"m{number}"
    if message.role == "tool":
        return _result(key, message, f"result of {message.tool_name or message.tool_call_id or 'a call'}", raw=known.raw)
    tone: Tone = message.role
    return Node(
        key,
        tone=tone,
        label=message.role,
        label_tone=tone,
        aside=_about(number, message),
        children=known.of_message,
        opened=message.role != "system",
        data=(key, message),
    )


def _about(number: int, message: ShownMessage) -> str:
    said = [f"{number + 1}"]
    size = len(message.content) if isinstance(message.content, str) else 0
    if size >= 1000:
        said.append(size_of(size))
    marks = message.metadata or {}
    if marks.get("cutOff"):
        said.append("cut off")
    if marks.get("synthetic"):
        said.append("a note of lousho, nobody's input")
    return " · ".join(said)


def _body(key: str, message: ShownMessage, known: _Drawing) -> Iterator[Node]:
    for number, block in enumerate(message.reasoning):
        yield _reasoning(f"{key}.r{number}", block.text or "(not readable: it is signed or hidden)")
    yield from _content(key, message, raw=known.raw)
    for number, call in enumerate(message.tool_calls):
        yield _call(f"{key}.c{number}", call, known)


def _reasoning(key: str, text: str) -> Node:
    children = lambda: text_nodes(key, text, "faint")  # noqa: E731
    return Node(key, tone="faint", label="reasoning", label_tone="faint", aside=size_of(len(text)), children=children)


def _content(key: str, message: ShownMessage, *, raw: bool) -> Iterator[Node]:
    markdown = message.role == "assistant" and not raw
    if isinstance(message.content, str):
        yield from _said(key, message.content, markdown=markdown)
        if not message.content.strip() and not message.tool_calls:
            yield Node(f"{key}.none", tone="faint", aside="(no text)")
        return
    for number, part in enumerate(message.content):
        own = f"{key}.{number}"
        text = getattr(part, "text", None)
        if text is not None:
            yield from _said(own, text, markdown=markdown)
        else:
            yield Node(own, _of_part(part), "faint")


def _said(key: str, text: str, *, markdown: bool) -> Sequence[Node]:
    if not markdown:
        return text_nodes(key, text, label_pages=False) if text.strip() else ()
    return tuple(Node(f"{key}.t{number}", piece.strip("\n"), look=look) for number, (piece, look) in enumerate(blocks_of(text)))


def _of_part(part: Any) -> str:
    """An image or a file as a line."""
    image = getattr(part, "image", None)
    if image is None:
        named = f" {part.filename}" if part.filename else ""
        return f"[file{named}, {part.mime_type}, {size_of(len(part.data) * 3 // 4)}]"
    kind = part.mime_type or "image"
    if image.startswith("data:") or "://" not in image[:12]:
        return f"[image, {kind}, {size_of(len(image.rpartition(',')[2]) * 3 // 4)}]"
    return f"[image, {kind}, {image}]"


def _call(key: str, call: Any, known: _Drawing) -> Node:
    result = known.results.get(call.id)
    arguments = " ".join(call.arguments[: _IN_SHORT * 2].split())
    short = arguments if len(arguments) <= _IN_SHORT else arguments[: _IN_SHORT - 1] + "…"
    if result is not None:
        came = "error" if result.is_error else "result"
    else:
        came = "waits for a person" if call.id == known.waits else "no result yet"
    tone: Tone = "error" if result is not None and result.is_error else "warning" if result is None else "tool"
    return Node(
        key,
        tone=tone,
        label=call.name,
        label_tone=tone,
        aside=f"{short if short != '{}' else ''} → {came}".strip(),
        children=known.of_call,
        data=(key, call),
    )


def _in_call(key: str, call: Any, known: _Drawing) -> Iterator[Node]:
    result, raw = known.results.get(call.id), known.raw
    yield Node(f"{key}.id", call.id, "faint", label="call")
    is_json, value = parsed(call.arguments)
    if is_json and not raw:
        yield json_node(f"{key}.args", "arguments", value, opened=True)
    else:
        yield Node(f"{key}.args", label="arguments", children=lambda: text_nodes(f"{key}.args", call.arguments), opened=True)
    if result is not None:
        yield _result(f"{key}.result", result, "error" if result.is_error else "result", raw=raw)


def _result(key: str, message: ShownMessage, label: str, *, raw: bool) -> Node:
    tone: Tone = "error" if message.is_error else "tool"
    text = message.content if isinstance(message.content, str) else None
    if text is None:
        return Node(key, tone=tone, label=label, label_tone=tone, children=lambda: tuple(_content(key, message, raw=raw)), opened=True)
    is_json, value = parsed(text)
    if is_json and not raw:
        return msgspec.structs.replace(json_node(key, label, value, opened=True), tone=tone, label_tone=tone)
    return Node(
        key,
        tone=tone,
        label=label,
        label_tone=tone,
        aside=size_of(len(text)) if len(text) >= 1000 else "",
        children=lambda: text_nodes(key, text, "error" if message.is_error else "plain"),
        opened=True,
    )
