"""What differs from run to run and means nothing: times, dates and ids become words; JSON gets one spelling. Pure."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any

from lousho_cli.domain.plain import plain

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"

_WORDS = (
    (re.compile(r"(?<!\w)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?!\w)", re.IGNORECASE | re.ASCII), "<uuid>"),
    (
        re.compile(r"(?<!\w)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z|[+-]\d\d:?\d\d)?(?!\w)", re.IGNORECASE | re.ASCII),
        "<timestamp>",
    ),
    (re.compile(r"(?<![\w.])1\d{12}(?!\w|\.\d)", re.ASCII), "<timestamp>"),
    (re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])", re.ASCII), "<date>"),
    (
        re.compile(
            rf"\b(?:(?:{_DAYS}),? +)?(?:(?:{_MONTHS}) +{_DAY},? +\d{{4}}|{_DAY} +(?:of +)?(?:{_MONTHS}),? +\d{{4}})\b",
            re.IGNORECASE | re.ASCII,
        ),
        "<date>",
    ),
    (re.compile(r"(?<![A-Za-z0-9_])(?:call|toolu|chatcmpl|msg|run|sess|session|req)_[A-Za-z0-9]{8,}(?![A-Za-z0-9])", re.ASCII), "<id>"),
)


@lru_cache(maxsize=4096)  # each call of a run sends all that was said before once more
def normalised_text(text: str) -> str:
    """A text without what differs from run to run: ``<timestamp>``, ``<date>``, ``<uuid>``, ``<id>``."""
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text


def normalised(value: Any) -> Any:
    """JSON data with every text in it normalised; keys stay as they are."""
    if isinstance(value, str):
        return normalised_text(value)
    if isinstance(value, dict):
        return {key: normalised(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [normalised(item) for item in value]
    return value


def canonical(value: Any) -> Any:
    """A value as JSON data of one spelling: keys sorted, 1.0 is 1, functions left out, too deep is cut off."""
    return _sorted(plain(_without_functions(value))[0])


def canonical_args(text: str) -> str:
    """The arguments of a call in one spelling; themselves where they are not JSON."""
    try:
        return json.dumps(_sorted(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def _without_functions(value: Any, depth: int = 0) -> Any:
    if depth > 100:
        return value
    if isinstance(value, dict):
        return {key: _without_functions(item, depth + 1) for key, item in value.items() if not callable(item)}
    if isinstance(value, (list, tuple)):
        return [_without_functions(item, depth + 1) for item in value if not callable(item)]
    return value


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value
