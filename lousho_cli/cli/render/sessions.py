"""A list of sessions as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.output import Output

COLUMNS = ("ID", "AGENT", "STATUS", "OUTCOME", "STEP", "WAITS FOR", "UPDATED")


def sessions_table(out: Output, sessions: Sequence[Any]) -> None:
    """One row a session; nothing at all when there are none."""
    if sessions:
        out.table(COLUMNS, [_row(session) for session in sessions])


def _row(session: Any) -> tuple[str, ...]:
    waits = session.waits_for
    return (
        session.id,
        session.agent or "-",
        session.status,
        (session.outcome or "-") + (f": {session.error}" if session.error else ""),
        str(session.step),
        f"{waits.tool} ({waits.id})" if waits else "-",
        session.updated_at,
    )
