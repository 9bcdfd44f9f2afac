"""What ``fsck`` found, as a table."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.output import Output


def findings_table(out: Output, checked: Any) -> None:
    """One row a finding; one line when there is none."""
    if not checked.findings:
        out.line("nothing found")
        return
    out.table(
        ("SESSION", "KIND", "SEQ", "SERIOUS", "DETAIL"),
        [
            (one.session, one.kind, "-" if one.seq is None else str(one.seq), "yes" if one.serious else "no", one.detail)
            for one in checked.findings
        ],
    )
