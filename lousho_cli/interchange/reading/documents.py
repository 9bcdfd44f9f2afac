"""Sessions that are one JSON document: message lists, trajectories and logs of evals. Each is told by its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lousho_cli.domain.messages import Message
from lousho_cli.interchange.reading import anthropic, atif, inspect_log, swe
from lousho_cli.interchange.reading.chat import entries_of, is_message, used_by
from lousho_cli.interchange.reading.fields import listed, mapping, text, time
from lousho_cli.interchange.reading.items import Items, is_item
from lousho_cli.interchange.reading.values import BadLine, Entry, Source, source_of

CHAT, RESPONSES = "openai-chat", "openai-responses"

_OWN: dict[str, tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any], str], list[Source]]]] = {
    atif.KIND: (atif.recognises, atif.read),
    inspect_log.KIND: (inspect_log.recognises, inspect_log.read),
    swe.KIND: (swe.recognises, swe.read),
}
"""The kinds that say what they are."""

KINDS = (CHAT, RESPONSES, anthropic.KIND, *_OWN)


def kind_of(value: Any) -> str | None:
    """The kind of a document; None for one that is no session."""
    if isinstance(value, dict):
        for kind, reader in _OWN.items():
            if reader[0](value):
                return kind
    messages = _messages(value)
    if messages is None:
        return RESPONSES if isinstance(value, dict) and _is_response(value) else None
    if isinstance(value, dict) and isinstance(value.get("system"), (str, list)) and "messages" in value:
        return anthropic.KIND
    if any(anthropic.is_own(one) for one in messages):
        return anthropic.KIND
    if any(is_item(one) for one in messages):
        return RESPONSES
    return CHAT if any(is_message(one) for one in messages) else None


def read(value: Any, kind: str, name: str) -> list[Source]:
    """The sessions of a document of a kind; ``name`` is the file's, without its ending."""
    if kind in _OWN:
        return _OWN[kind][1](value if isinstance(value, dict) else {"messages": listed(value)}, name)
    given = _messages(value) or []
    body = mapping(value)
    if kind == anthropic.KIND:
        return [anthropic.source(body, given, name)]
    if kind == RESPONSES:
        return [_responses(body, given, name)]
    return [_chat(body, given, name)]


def _messages(value: Any) -> list[Any] | None:
    """The list of what was said in a document; None where it has none."""
    if isinstance(value, list):
        return value if any(is_message(one) or is_item(one) for one in value) else None
    if not isinstance(value, dict):
        return None
    for name in ("messages", "items", "input"):
        if isinstance(value.get(name), list) and value[name]:
            return [*value[name], *listed(value.get("output"))]
    return None


def _is_response(value: dict[str, Any]) -> bool:
    return any(is_item(one) for one in listed(value.get("output")))


def _chat(body: dict[str, Any], given: list[Any], name: str) -> Source:
    choice = mapping(next(iter(listed(body.get("choices"))), None))
    if is_message(choice.get("message")):
        given = [*given, {**choice["message"], "usage": body.get("usage")}]
    entries, bad = entries_of(given, text(body.get("model")))
    return source_of(CHAT, text(body.get("session_id")) or name, "openai", entries, bad=tuple(bad))


def _responses(body: dict[str, Any], given: list[Any], name: str) -> Source:
    items = Items()
    entries: list[Entry] = []
    bad: list[BadLine] = []
    items.model = text(body.get("model"))
    asked = body.get("input")
    if isinstance(body.get("instructions"), str) and body["instructions"]:
        entries.append(Entry(Message("system", body["instructions"])))
    if isinstance(asked, str):
        entries.append(Entry(Message("user", asked), place=1))
    for place, item in enumerate(given or listed(body.get("output")), 1):
        if not is_item(item) and not is_message(item):
            bad.append(BadLine(place, "it is no item: it has no type and no role"))
            continue
        entries.extend(items.take(item, time(item.get("created_at")), place))
    entries.extend(items.cut(used_by(body.get("usage"))))
    return source_of(RESPONSES, text(body.get("id")) or name, "openai", entries, bad=tuple(bad))


def responses_rows(rows: list[tuple[Any, Any]], session_id: str, kind: str, agent: str) -> Source:
    """The session of items that were kept one by one, each with its time."""
    items = Items()
    entries: list[Entry] = []
    bad: list[BadLine] = []
    for place, (item, at) in enumerate(rows, 1):
        if isinstance(item, ValueError):
            bad.append(BadLine(place, str(item)))
        elif is_message(item) and not is_item(item):
            entries.extend(items.cut())
            entries.extend(msgspec.structs.replace(one, at=time(at), place=place) for one in entries_of([item])[0])
        elif is_item(item):
            entries.extend(items.take(item, time(at), place))
        else:
            bad.append(BadLine(place, "it is no item: it has no type and no role"))
    entries.extend(items.cut())
    return source_of(kind, session_id, agent, entries, bad=tuple(bad))
