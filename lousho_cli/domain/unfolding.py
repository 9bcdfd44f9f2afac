"""How much longer a value becomes by being written: what stands in it in many places is written in each of them.

Sixty lists, each of which holds the next one twice, are sixty lists in memory and no text that could ever be written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

DEEPEST = 100
"""So many parts within each other are written."""

_MUCH = 4_000_000
_TIMES = 100
"""A value is written that is, about, no more than so many characters longer than its parts, or no more than so many times as long."""

_FEW = 10_000
"""A value of no more parts than this, each counted wherever it stands, is written without a closer look."""

_LEAVES: frozenset[type] = frozenset((str, int, float, bool, type(None)))
"""What has no parts; most of a long value is of these kinds, and passed over."""


def unfolds(value: Any) -> bool:
    """Whether the parts of a value stand in it so often that it is not to be written. Looks at each part once, whatever holds it."""
    found = [value]
    for item in found:  # which grows meanwhile
        if type(item) not in _LEAVES:
            found += parts_of(item)
        if len(found) > _FEW:
            return _has_no_end(value)
    return False


def fields_of(value: Any) -> dict[str, Any] | None:
    """The parts of a dataclass, a pydantic model or a ``Struct``, by name; None for anything else."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)) and not hasattr(kind, "__dataclass_fields__"):
        declared = getattr(kind, "model_fields", None)
        left_out = {name for name, field in declared.items() if getattr(field, "exclude", False)} if isinstance(declared, dict) else ()
        return {name: item for name, item in getattr(value, "__dict__", {}).items() if name not in left_out}
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__struct_fields__", None)
    return None if names is None else {name: getattr(value, name, None) for name in names}


def parts_of(value: Any) -> Iterable[Any]:
    """What a value holds, keys aside; nothing for one that holds nothing."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if value is None or isinstance(value, (str, int, float)):
        return ()
    return (fields_of(value) or {}).values()


def _has_no_end(value: Any) -> bool:
    """Whether the text of a value is much longer than the texts of its parts, each counted once."""
    lengths: dict[int, int] = {}
    within: set[int] = set()
    own = 0
    open_parts: list[Any] = [value]
    while open_parts:
        part = open_parts.pop()
        if type(part) is _Open:
            lengths[id(part.part)] += sum([lengths.get(id(item), 0) for item in part.held])
            within.remove(id(part.part))
        elif id(part) in within:
            return _goes_round_long(value)
        elif id(part) not in lengths and (parts := parts_of(part)):
            lengths[id(part)] = alone = sum([len(item) + 3 if type(item) is str else 4 for item in parts])
            own += alone
            held = [item for item in parts if type(item) not in _LEAVES]
            if held:
                within.add(id(part))
                open_parts.append(_Open(part, held))
                open_parts += held
    return lengths[id(value)] > max(own * _TIMES, own + _MUCH)


class _Open:
    """A part whose own parts are being looked at."""

    def __init__(self, part: Any, held: list[Any]) -> None:
        self.part, self.held = part, held


def _goes_round_long(value: Any) -> bool:
    """Whether a value that stands within itself has many parts even where each way through it ends at what it came through.

    So has one that holds a model or a ``Struct``: these can only be written as a whole, which has no end.
    """
    count = 0
    ways: list[tuple[Any, tuple[int, ...]]] = [(value, ())]
    while ways:
        part, through = ways.pop()
        if id(part) in through or len(through) >= DEEPEST:
            continue
        if _is_written_as_a_whole(part):
            return True
        held = list(parts_of(part))
        count += len(held)
        if count > _FEW:
            return True
        through = (*through, id(part))
        ways += [(item, through) for item in held if type(item) not in _LEAVES]
    return False


def _is_written_as_a_whole(part: Any) -> bool:
    kind = type(part)
    return not hasattr(kind, "__dataclass_fields__") and (hasattr(kind, "model_dump") or hasattr(kind, "__struct_fields__"))
