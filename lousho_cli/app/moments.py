"""Points in time as people write them: ``2h`` ago, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from lousho_cli.app.durations import parse_duration
from lousho_cli.errors import ConfigurationError


def moment(text: str, field: str) -> str:
    """The point in time as UTC, ISO 8601, comparable with those in a log.

    Args:
        text: ``30m``, ``2h``, ``3d``, ``1w`` ago, or an ISO date or time (without a zone: local).
        field: the flag to name when it is neither.

    Raises:
        ConfigurationError: it is neither.
    """
    try:
        if re.fullmatch(r"(\d+(\.\d+)?[a-z]+)+", text.strip()):
            return iso(datetime.now(UTC) - timedelta(milliseconds=parse_duration(text)))
        return iso(datetime.fromisoformat(text.strip()).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise ConfigurationError(f"{text!r} is no point in time", field=field, hint="Use 30m, 2h, 3d, or 2026-01-31.") from error


def iso(when: datetime) -> str:
    """A UTC time in the form all records have."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def age(at: str, now: datetime) -> str:
    """How long ago ``at`` was, in one unit: ``5s``, ``12m``, ``3h``, ``4d``. '' when it is no time."""
    try:
        seconds = int((now - datetime.fromisoformat(at)).total_seconds())
    except ValueError:
        return ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
