"""What an import did, as a table."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.output import Output

COLUMNS = ("SESSION", "RESULT", "MESSAGES", "CHECKPOINTS", "WAITS FOR", "FROM")


def imported_table(out: Output, done: Any) -> None:
    """One row a session; nothing when none was found."""
    if done.sessions:
        out.table(COLUMNS, [_row(one) for one in done.sessions], {"FROM": 12})


def _row(one: Any) -> tuple[str, ...]:
    return (one.session, one.result, str(one.messages or "-"), str(one.checkpoints), one.waits_for or "-", one.source)
