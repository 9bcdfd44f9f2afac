"""How much longer a value becomes by being written: what stands in it in many places is written in each of them.

Sixty lists, each of which holds the next one twice, are sixty lists in memory and no text that could ever be written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MUCH = 4_000_000
_TIMES = 100
"""A value is written that is, about, no more than so many characters longer than its parts, or no more than so many times as long."""

_FEW = 10_000
"""A value of no more parts than this, each counted wherever it stands, is written without a closer look."""


def unfolds(value: Any) -> bool:
    """Whether the parts of a value stand in it so often that it is not to be written. Looks at each part once, whatever holds it."""
    found = [value]
    for item in found:  # which grows meanwhile
        if not isinstance(item, str):
            found += _parts(item)
        if len(found) > _FEW:
            return _has_no_end(value)
    return False


def fields_of(value: Any) -> dict[str, Any] | None:
    """The parts of a dataclass, a pydantic model or a ``Struct``, by name; None for anything else."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)) and not hasattr(kind, "__dataclass_fields__"):
        return dict(getattr(value, "__dict__", {}))
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__struct_fields__", None)
    return None if names is None else {name: getattr(value, name, None) for name in names}


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if value is None or isinstance(value, (int, float)):
        return ()
    return (fields_of(value) or {}).values()


def _has_no_end(value: Any) -> bool:
    """Whether a value stands within itself, or its text is much longer than the texts of its parts, each counted once."""
    lengths: dict[int, int] = {}
    within: set[int] = set()
    own = 0
    open_parts: list[tuple[Any, list[Any] | None]] = [(value, None)]
    while open_parts:
        part, held = open_parts.pop()
        if held is not None:
            alone = sum(len(item) + 3 if isinstance(item, str) else 4 for item in held)
            own += alone
            lengths[id(part)] = alone + sum(lengths.get(id(item), 0) for item in held)
            within.remove(id(part))
        elif id(part) in within:
            return True
        elif id(part) not in lengths and (held := list(_parts(part))):
            within.add(id(part))
            open_parts.append((part, held))
            open_parts += ((item, None) for item in held if not isinstance(item, str))
    return lengths[id(value)] > max(own * _TIMES, own + _MUCH)
