"""When two JSON texts say the same, and where two values first part.

A run that asked for ``{"n": 1}`` and one that asked for ``{"n": 1.0}`` asked for the same
thing; ``true`` and ``"1"`` are something else, although Python calls ``True`` and 1 equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

DEPTH = 100
"""Levels of nesting that are looked into."""


class Parsed(NamedTuple):
    """A JSON text read once: ``text`` key-sorted, as it came where it is no JSON; ``key`` is equal where the value is."""

    text: str
    value: Any
    key: Any


class Difference(NamedTuple):
    """Where two values first part: the path, and both values there; UNSET where one side has none."""

    path: str
    a: Any
    b: Any


def parse(text: str) -> Parsed:
    """Reads a JSON text. What is no strict JSON (NaN, a number past all floats) or nested past ``DEPTH`` is plain text."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        sorted_text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return Parsed(sorted_text, value, _key(value))
    except (ValueError, RecursionError):
        return Parsed(text, text, ("no JSON", text))


def differences(a: Any, b: Any, path: str = "") -> Iterator[Difference]:
    """Every place where two JSON values part, keys in alphabetical order.

    The path is ``city``, ``filters.tags[0]``; '' for the values as a whole.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from _either(a.get(key, UNSET), b.get(key, UNSET), f"{path}.{key}" if path else key)
    elif isinstance(a, list) and isinstance(b, list):
        for i in range(max(len(a), len(b))):
            yield from _either(_at(a, i), _at(b, i), f"{path}[{i}]")
    elif _key(a) != _key(b):
        yield Difference(path, a, b)


def kind_of(value: Any) -> str:
    """The JSON kind of a value, in a word: number, text, true/false, null, list, object, nothing."""
    if value is UNSET:
        return "nothing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "object"


def _either(a: Any, b: Any, path: str) -> Iterator[Difference]:
    return iter((Difference(path, a, b),)) if a is UNSET or b is UNSET else differences(a, b, path)


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else UNSET


def _key(value: Any, depth: int = 0) -> Any:
    """Hashable, and equal exactly where two JSON values are: numbers by value, true and false never numbers."""
    if depth > DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        return ("object", frozenset((name, _key(item, depth + 1)) for name, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(_key(item, depth + 1) for item in value))
    return (kind_of(value), value)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
