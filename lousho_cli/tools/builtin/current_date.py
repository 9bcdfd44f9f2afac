"""``current-date``: what day and time it is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from lousho_cli.ports.tool import Tool
from lousho_cli.tools.function import Replay, function_tool


def current_date(
    timezone: Annotated[str, Field(description="IANA name such as Europe/Lisbon; the machine's own when left out")] = "",
) -> dict[str, Any]:
    """The current date, weekday and time."""
    now = datetime.now(_zone(timezone)) if timezone else datetime.now().astimezone()
    return {
        "date": now.date().isoformat(),
        "weekday": now.strftime("%A"),
        "time": now.strftime("%H:%M:%S"),
        "timezone": timezone or (now.tzname() or ""),
        "utc_offset": now.strftime("%z"),
    }


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is no known time zone; use an IANA name such as Europe/Lisbon") from error


def make(workspace: Path, needs_approval: bool | None = None, replay: Replay | None = None) -> Tool:
    return function_tool(current_date, name="current-date", replay=replay or "safe", needs_approval=bool(needs_approval), read_only=True)
