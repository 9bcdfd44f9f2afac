"""The ring of a session as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.output import Output
from lousho_cli.cli.render.times import ago

COLUMNS = ("ADDRESS", "STEP", "STATUS", "ADDED", "BYTES", "SAVED")


def history_table(out: Output, entries: Sequence[Any]) -> None:
    """One row a checkpoint; nothing when none is kept."""
    if entries:
        out.table(
            COLUMNS,
            [
                (entry.address, str(entry.step), entry.status, ", ".join(entry.added) or "-", str(entry.bytes), ago(out, entry.saved_at))
                for entry in entries
            ],
            {"ADDED": 12, "STATUS": 11},
        )
