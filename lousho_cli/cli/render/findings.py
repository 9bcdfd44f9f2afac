"""What ``fsck`` found, as a table."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.output import Output


def findings_table(out: Output, checked: Any) -> None:
    """One row a finding, then how many sessions were looked at."""
    if checked.findings:
        out.table(
            ("SESSION", "KIND", "SEQ", "DETAIL"),
            [(one.session, one.kind, "-" if one.seq is None else str(one.seq), one.detail) for one in checked.findings],
        )
    damaged = len({one.session for one in checked.findings if one.serious})
    out.line(f"{checked.sessions} sessions looked at, {damaged} damaged")
