"""A list of sessions as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.output import Output
from lousho_cli.cli.render.times import ago
from lousho_cli.cli.render.usage import SPEND, columns

COLUMNS = ("ID", "AGENT", "STATUS", "OUTCOME", "STEP", "WAITS FOR", *SPEND, "UPDATED")


def sessions_table(out: Output, sessions: Sequence[Any]) -> None:
    """One row a session; nothing at all when there are none. On a terminal the ids stay whole, the rest gives way.

    A pipe has why a session failed whole, and behind everything else: it would push the columns of all the others apart.
    """
    if not sessions:
        return
    if not out.terminal and any(session.error for session in sessions):
        rows = [(*_row(out, session, session.outcome or "-"), session.error or "-") for session in sessions]
        out.table((*COLUMNS, "ERROR"), rows)
        return
    longest = max((len(session.waits_for.id) for session in sessions if session.waits_for), default=0)
    cut = {"OUTCOME": 9, "AGENT": 6, "WAITS FOR": max(longest + 2, 9), "STATUS": 11}
    out.table(COLUMNS, [_row(out, session, _outcome(session)) for session in sessions], cut, SPEND)


def _outcome(session: Any) -> str:
    return (session.outcome or "-") + (f": {session.error}" if session.error else "")


def _row(out: Output, session: Any, outcome: str) -> tuple[str, ...]:
    waits = session.waits_for
    return (
        session.id,
        session.agent or "-",
        "cleared" if session.cleared else session.status,
        outcome,
        str(session.step),
        f"{waits.id} ({waits.named_tool})" if waits else "-",  # the id first: it is what approve takes, and what a cut must not reach
        *columns(session.usage),
        ago(out, session.updated_at),
    )
