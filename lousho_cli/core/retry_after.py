"""How long a server asks to wait, in each form in which servers say it.

In the headers: ``retry-after-ms``; ``retry-after`` in seconds or as an HTTP date; ``x-ratelimit-reset-*`` of a limit
that is used up. In the body of an error: Google's ``retryDelay``, the headers that OpenRouter hands on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_UNIT_MS = {"ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_TIME = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)"


def parse_retry_after(headers: Mapping[str, str], now_ms: int) -> int | None:
    """How many milliseconds the server asks to wait, from ``retry-after-ms`` or ``retry-after``; None when it asks nothing.

    Takes whole and decimal numbers and every form of HTTP date. What is past is 0; a negative number or
    anything else is None. A date has whole seconds, so its distance is rounded up to them.
    """
    given = _lowered(headers)
    milliseconds = _number(given.get("retry-after-ms", ""))
    if milliseconds is not None:
        return math.ceil(milliseconds)
    value = given.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return math.ceil(seconds * 1000)
    date_ms = _http_date_ms(value)
    return None if date_ms is None else max(0, math.ceil((date_ms - now_ms) / 1000) * 1000)


def rate_limit_reset(headers: Mapping[str, str], now_ms: int) -> int | None:
    """How many milliseconds until every limit that is used up begins anew; None where none is said to be.

    For an answer that says a limit was reached and not how long to wait. Servers name their limits in all their
    answers; only one of which nothing remains is waited for.
    """
    given = _lowered(headers)
    waits = []
    for name, value in given.items():
        of_limit = name.startswith(("x-ratelimit-reset", "ratelimit-reset"))
        if of_limit and _number(given.get(name.replace("-reset", "-remaining"), "")) == 0:
            waits.append(_distance(value, now_ms))
    return max((wait for wait in waits if wait is not None), default=None)


def wait_in_body(value: Any, now_ms: int) -> int | None:
    """How many milliseconds the error object of a body asks to wait: ``error.details[].retryDelay`` or the headers in its metadata."""
    if isinstance(value, list):
        return wait_in_body(value[0], now_ms) if value else None
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict):
        return None
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            wait = _span(detail["retryDelay"])
            if wait is not None:
                return wait
    metadata = error.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    if not isinstance(headers, dict):
        return None
    texts = {str(name): str(text) for name, text in headers.items()}
    wait = parse_retry_after(texts, now_ms)
    return rate_limit_reset(texts, now_ms) if wait is None else wait


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in headers.items()}


def _number(text: str) -> float | None:
    # At most 13 digits before the point, a time in milliseconds: more is no wait anybody means, and must not become infinite.
    return float(text) if re.fullmatch(r"[0-9]{1,13}(\.[0-9]+)?", text) else None


def _distance(text: str, now_ms: int) -> int | None:
    """From a span (``1m30s``, ``6ms``), seconds, or a time in seconds or milliseconds since 1970."""
    number = _number(text)
    if number is None:
        return _span(text)
    if number < 1e9:
        return math.ceil(number * 1000)
    return max(0, math.ceil(number if number >= 1e12 else number * 1000) - now_ms)


def _span(text: str) -> int | None:
    text = text.strip()
    if not re.fullmatch(f"(?:{_TIME})+", text):
        return None
    return math.ceil(sum(float(number) * _UNIT_MS[unit] for number, unit in re.findall(_TIME, text)))


def _http_date_ms(text: str) -> int | None:
    if not re.search(r"[0-9]:[0-9]", text):
        return None
    from calendar import timegm  # only a date needs these two
    from email.utils import parsedate_to_datetime

    try:
        return timegm(parsedate_to_datetime(text).utctimetuple()) * 1000
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
