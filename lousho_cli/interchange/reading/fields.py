"""Values out of JSON that may hold anything: each of the kind that was asked for, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from lousho_cli.domain.plain import json_text
from lousho_cli.domain.times import stamp
from lousho_cli.domain.usage import CallUsage

_MILLISECONDS = 100_000_000_000
"""A time in numbers above this is in milliseconds, not in seconds."""


def text(value: Any) -> str:
    """A text; '' for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """A whole number of nothing or more; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def number(value: Any) -> float | None:
    """A number; None for anything else, and for one that is too large."""
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def written(value: Any) -> str:
    """A text as it is, anything else as its JSON text."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()  # it came out of JSON
    except (msgspec.MsgspecError, OverflowError, UnicodeEncodeError, RecursionError):
        return json_text(value)[0]


def time(value: Any) -> str:
    """A time as ours, from ISO text or from seconds or milliseconds since 1970; '' for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            if len(value) == 24 and value[23] == "Z" and value[10] == "T" and value[19] == ".":
                return value
            return stamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
        except (ValueError, OverflowError):
            return ""
    seconds = number(value)
    if seconds is None:
        return ""
    try:
        return stamp(datetime.fromtimestamp(seconds / 1000 if seconds > _MILLISECONDS else seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return ""


def usage(value: Any, into: Iterable[str], out: Iterable[str], cached: Any = None, reasoning: Any = None) -> CallUsage | None:
    """What a call used, the first of the names ``into`` and ``out`` that is there; None where neither is."""
    known = mapping(value)
    given_in = next((found for name in into if (found := whole(known.get(name))) is not None), None)
    given_out = next((found for name in out if (found := whole(known.get(name))) is not None), None)
    if given_in is None and given_out is None:
        return None
    return CallUsage(given_in, given_out, whole(cached), whole(reasoning))


def subset(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of the named fields that are there and not null."""
    return {name: value[name] for name in names if value.get(name) is not None}
