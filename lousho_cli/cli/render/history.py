"""The ring of a session as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.output import Output
from lousho_cli.cli.render.times import ago
from lousho_cli.cli.render.usage import SPEND, columns

COLUMNS = ("ADDRESS", "STEP", "STATUS", "ADDED", "BYTES", *SPEND, "SAVED")


def history_table(out: Output, entries: Sequence[Any]) -> None:
    """One row a checkpoint; nothing when none is kept."""
    if entries:
        out.table(
            COLUMNS,
            [_row(out, entry) for entry in entries],
            {"ADDED": 12, "STATUS": 11},
            SPEND,
        )


def _row(out: Output, entry: Any) -> tuple[str, ...]:
    added = ", ".join(entry.added) or "-"
    return entry.address, str(entry.step), entry.status, added, str(entry.bytes), *columns(entry.usage), ago(out, entry.saved_at)
