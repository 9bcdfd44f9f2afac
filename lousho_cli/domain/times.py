"""Times as they stand in records: UTC, ISO 8601 with milliseconds and ``Z``. For people, never for order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def stamp(moment: datetime) -> str:
    """A moment as it is written."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def later(time: str, ms: int) -> str:
    """The time ``ms`` milliseconds behind a written one; one that can not be read stays as it is."""
    try:
        return stamp(datetime.fromisoformat(time) + timedelta(milliseconds=ms))
    except (ValueError, TypeError, OverflowError):
        return time


def ms_between(first: str, then: str) -> int:
    """Whole milliseconds from one written time to another; 0 where one of them can not be read."""
    try:
        return round((datetime.fromisoformat(then) - datetime.fromisoformat(first)).total_seconds() * 1000)
    except (ValueError, TypeError):
        return 0
