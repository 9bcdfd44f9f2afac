"""Sessions and what became of their agents, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.output import Output

COLUMNS = ("ID", "AGENT", "STATUS", "VERDICT", "WHAT CHANGED")

_WORDS = {"none": "same", "changed": "changed", "warn": "would warn", "refuse": "would refuse", "no-agent": "no agent"}


def drift_table(out: Output, found: Sequence[Any]) -> None:
    """One row a session; a line that says so when there is none."""
    if not found:
        out.line("no session is unfinished")
        return
    out.table(
        COLUMNS, [(one.session, one.agent or "-", _status(one), _WORDS[one.verdict], _what(one)) for one in found], {"WHAT CHANGED": 20}
    )


def _status(one: Any) -> str:
    return f"waits for {one.waits_for}" if one.waits_for else str(one.status)


def _what(one: Any) -> str:
    missing = [f"a pending call needs {', '.join(one.missing_tools)}, which is gone"] if one.missing_tools else []
    changed = [one.drift.describe()] if one.drift is not None else []
    return "; ".join([*missing, *changed]) or "-"
