"""Points in time in a table: how long ago for a person at a terminal, the whole time for a program behind a pipe."""

from __future__ import annotations

from datetime import UTC, datetime

from lousho_cli.cli.output import Output


def ago(out: Output, at: str) -> str:
    """When something was, such as ``3h ago``."""
    from lousho_cli.app.moments import age

    said = age(at, datetime.now(UTC)) if out.terminal else ""
    return f"{said} ago" if said else at


def expiry(out: Output, at: str | None) -> str:
    """When something ends, such as ``in 3h``; what ended is marked everywhere."""
    from lousho_cli.app.moments import age, iso

    if at is None:
        return "-"
    now = datetime.now(UTC)
    if at <= iso(now):
        return "expired" if out.terminal else f"{at} (expired)"
    left = age(iso(now), datetime.fromisoformat(at)) if out.terminal else ""
    return f"in {left}" if left else at
