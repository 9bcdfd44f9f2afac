"""Times as records carry them: UTC, ISO 8601, whole milliseconds and ``Z``, so that they also sort as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_MS = timedelta(milliseconds=1)

AT_ONCE = "1970-01-01T00:00:00.000Z"
"""When a session wants to be taken up that is left for whoever comes next: that time has come, whatever the clock of a host says."""


def stamp(moment: datetime) -> str:
    """A moment, given with its time zone, in the form all records have."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def later(at: str, ms: int) -> str:
    """The time ``ms`` milliseconds after ``at``; before it where ``ms`` is below 0.

    Raises:
        ValueError: ``at`` is no time.
    """
    return stamp(datetime.fromisoformat(at) + ms * _MS)


def ms_between(earlier: str, moment: str) -> int:
    """How many milliseconds ``moment`` comes after ``earlier``; below 0 when it comes before.

    Raises:
        ValueError: one of them is no time.
    """
    return round((datetime.fromisoformat(moment) - datetime.fromisoformat(earlier)) / _MS)


def ms_since_1970(at: str) -> int:
    """A time as milliseconds since 1970.

    Raises:
        ValueError: it is no time.
    """
    return ms_between(AT_ONCE, at)
