"""Lengths of time as people write them: ``30m``, ``3d``, ``1h30m``, ``500ms``; a bare number is seconds."""

from __future__ import annotations

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)", re.ASCII)
_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LONGEST_MS = 100 * 366 * _MS["d"]

PATTERN = r"^\d+(\.\d+)?(ms|s|m|h|d|w)?(\d+(\.\d+)?(ms|s|m|h|d|w))*$"
"""The same as a pattern for a JSON Schema."""


def parse_duration(value: object) -> int:
    """A length of time in whole milliseconds.

    Args:
        value: text such as ``30m``, or a number of seconds.

    Raises:
        ValueError: it is none, is not longer than nothing, or is longer than a century.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("must be a duration such as 30m or 3d")  # noqa: TRY004 - pydantic turns this kind into an issue
    text = str(value).replace(" ", "").lower()
    if re.fullmatch(r"\d{1,15}(\.\d+)?", text, re.ASCII):
        text += "s"
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text or len(text) > 50:
        raise ValueError("must be a duration such as 500ms, 30s, 30m, 2h or 3d; a bare number is seconds")
    total = round(sum(float(number) * _MS[unit] for number, unit in parts))
    if not 0 < total <= _LONGEST_MS:
        raise ValueError("must be a duration longer than nothing and shorter than a century")
    return total
