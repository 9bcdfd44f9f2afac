"""What waits for a person as a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from lousho_cli.app.hostile_text import json_line
from lousho_cli.cli.output import Output
from lousho_cli.cli.render.times import expiry

COLUMNS = ("ID", "SESSION", "TOOL", "ARGUMENTS", "DIGEST", "AGE", "EXPIRES")


def pending_table(out: Output, items: Sequence[Any]) -> None:
    """One row each; nothing when nothing waits."""
    if items:
        now = datetime.now(UTC)
        out.table(COLUMNS, [_row(out, item, now) for item in items], {"ARGUMENTS": 12, "DIGEST": 8, "TOOL": 8})


def _row(out: Output, item: Any, now: datetime) -> tuple[str, ...]:
    from lousho_cli.app.moments import age

    said = item.question if item.question is not None else json_line(item.args)
    options = f" [{', '.join(item.options)}]" if item.options else ""
    return (item.id, item.session, item.named_tool, said + options, item.digest, age(item.created_at, now), expiry(out, item.expires_at))
