"""A comparison as text. Long values are cut, and the text says so; JSON has them whole."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.output import Output

VALUE_WIDTH = 300
"""Characters of each value that are shown."""

MOST_CHANGES = 100
"""Changes that are shown before the rest is only counted."""


def diff_text(out: Output, a: str, b: str, compared: Any) -> None:
    """Where two sessions part first, each difference, what drifted, and the tokens of both."""
    if compared.diverged_at is None:
        out.line(f"{a} and {b} do not differ in any of {len(compared.a)} steps")
    else:
        out.line(f"{a} and {b} part at step {compared.diverged_at}", "bold")
    lines = [change.describe(VALUE_WIDTH) for change in compared.changes[:MOST_CHANGES]]
    for change, line in zip(compared.changes, lines, strict=False):
        out.line(f"  {line}", {"added": "green", "removed": "red"}.get(change.kind, "yellow"))
    if len(compared.changes) > MOST_CHANGES:
        out.line(f"  … and {len(compared.changes) - MOST_CHANGES} more differences; --json has all")
    if any(line.endswith("…") or "… " in line for line in lines):
        out.line(f"  values are cut at {VALUE_WIDTH} characters; --json has them whole")
    if compared.drift:
        out.line()
        out.table(("DRIFT", "A", "B"), [(row.field, _cut(row.committed), _cut(row.current)) for row in compared.drift])
    out.line()
    out.line(f"tokens: {compared.tokens.a} and {compared.tokens.b}")
    if compared.mode != "strict":
        out.line(f"as {compared.mode}: {'the same' if compared.matches else 'different'}")


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_WIDTH else f"{text[:VALUE_WIDTH]}… ({len(text)} characters)"
