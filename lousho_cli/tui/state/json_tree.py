"""A JSON value as nodes, made as they are opened. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from lousho_cli.tui.state.outline import Node, Tone
from lousho_cli.tui.state.paging import pages_of, size_of, text_nodes

GROUP = 100
"""So many entries are listed one below the other; more of them stand in groups of that size."""

_SHORT = 400
_SEEN = 4


def json_node(key: str, label: str, value: Any, *, opened: bool = False) -> Node:
    """A value under its name; ``opened``: with what is in it, where that is anything."""
    if isinstance(value, dict):
        children = (lambda: entries(key, [(str(name), one) for name, one in value.items()])) if value else None
        return Node(key, "" if value else "{}", label=label, aside=_in_dict(value), children=children, opened=opened)
    if isinstance(value, (list, tuple)):
        some: Callable[[], Sequence[Node]] | None = (
            (lambda: entries(key, [(str(at), one) for at, one in enumerate(value)])) if value else None
        )
        return Node(key, "" if value else "[]", label=label, aside=_in_list(value), children=some, opened=opened)
    if isinstance(value, str):
        return _text(key, label, value)
    return Node(key, json.dumps(value, default=str), _tone(value), label=label)


def entries(key: str, listed: Sequence[tuple[str, Any]], first: int = 0) -> Sequence[Node]:
    """Named values one below the other; of very many, groups of them. ``first``: how many entries stand in front of these."""
    size = GROUP
    while len(listed) > size * GROUP:
        size *= GROUP
    if len(listed) <= GROUP:
        return tuple(json_node(f"{key}/{name}", name, value, opened=_small(value)) for name, value in listed)
    return tuple(_group(key, listed, first, (start, min(start + size, len(listed)))) for start in range(0, len(listed), size))


def _small(value: Any) -> bool:
    """Whether a value is so small that it is seen open."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return 0 < len(inner) <= _SEEN and not any(isinstance(one, (dict, list, tuple)) for one in inner)


def _group(key: str, listed: Sequence[tuple[str, Any]], first: int, part: tuple[int, int]) -> Node:
    start, end = part
    own = f"{key}/[{first + start}-{first + end}]"
    aside = f"{first + start} … {first + end - 1}"
    return Node(own, tone="faint", aside=aside, children=lambda: entries(own, listed[start:end], first + start))


def _text(key: str, label: str, value: str) -> Node:
    if len(value) <= _SHORT and "\n" not in value:
        return Node(key, json.dumps(value, ensure_ascii=False), "string", "text", label=label)
    pages = len(pages_of(value))
    aside = f"text, {size_of(len(value))}" + (f", {pages} pages" if pages > 1 else "")
    return Node(
        key, tone="string", label=label, aside=aside, children=lambda: text_nodes(key, value, "string"), opened=len(value) <= _SHORT * 2
    )


def _tone(value: Any) -> Tone:
    return "constant" if value is None or isinstance(value, bool) else "number"


def _in_dict(value: dict[str, Any]) -> str:
    if not value:
        return ""
    names = ", ".join(str(name)[:24] for name in islice(value, _SEEN))
    return f"{{{names}{', …' if len(value) > _SEEN else ''}}}" + (f" {len(value)}" if len(value) > _SEEN else "")


def _in_list(value: Sequence[Any]) -> str:
    return f"[{len(value)}]" if value else ""


def parsed(text: str) -> tuple[bool, Any]:
    """Whether a text is a JSON object or list, and which; any other text is shown as it stands."""
    if not text[:64].lstrip().startswith(("{", "[")):
        return False, None
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None
