"""A comparison as text. Long values are cut, and the text says so; JSON has them whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from lousho_cli.cli.output import Output
from lousho_cli.cli.render.usage import columns

VALUE_WIDTH = 300
"""Characters of each value that are shown."""

MOST_CHANGES = 100
"""Changes that are shown before the rest is only counted."""

MOST_LINES = 6
"""Lines of a longer text that are shown of each side."""

_COLOURS = {"added": "green", "removed": "red", "+": "green", "-": "red"}


def diff_text(out: Output, a: str, b: str, compared: Any) -> None:
    """Where two sessions part first, each difference, what drifted, and the tokens of both."""
    if compared.diverged_at is None:
        out.line(f"{a} and {b} do not differ in any of {len(compared.a)} steps")
    else:
        out.line(f"{a} and {b} part at step {compared.diverged_at}", "bold")
    shown = [line for change in compared.changes[:MOST_CHANGES] for line in _lines(change)]
    for style, line in shown:
        out.line(f"  {line}", _COLOURS.get(style, "yellow"))
    if len(compared.changes) > MOST_CHANGES:
        out.line(f"  … and {len(compared.changes) - MOST_CHANGES} more differences; --json has all")
    if any(_is_cut(line) for _, line in shown):
        out.line("  values are cut; --json has them whole")
    if compared.drift:
        out.line()
        rows = [(row.field, _cut(row.committed), _cut(row.current)) for row in compared.drift]
        out.table(("DRIFT", "A", "B"), rows, {"A": 20, "B": 20})
    out.line()
    tokens, costs = zip(columns(compared.usage.a), columns(compared.usage.b), strict=True)
    out.line(f"tokens: {' and '.join(tokens)}")
    out.line(f"cost: {' and '.join(costs)}")
    if compared.mode is not None:
        out.line(f"as {compared.mode}: {'the same' if compared.matches else 'different'}")


def _lines(change: Any) -> Iterator[tuple[str, str]]:
    """A difference as lines, each with what it is: added, removed, changed, or a line of one side."""
    a, b = change.a, change.b
    texts = isinstance(a, str) and isinstance(b, str)
    if texts and ("\n" in a or "\n" in b):
        yield from _of_texts(change.where, a.split("\n"), b.split("\n"))
    elif change.kind == "changed" and a is UNSET:
        yield "added", f"{change.where}: added {_json(b)}"
    elif change.kind == "changed" and b is UNSET:
        yield "removed", f"{change.where}: removed {_json(a)}"
    else:
        yield change.kind, change.describe(VALUE_WIDTH)
    if change.more:
        yield "changed", f"… and {change.more} more places in the {change.field} of {change.tool}"


def _of_texts(where: str, a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Two texts of several lines: those between what both begin and end with."""
    most = min(len(a), len(b))
    start = next((i for i in range(most) if a[i] != b[i]), most)
    end = next((i for i in range(most - start) if a[-1 - i] != b[-1 - i]), most - start)
    yield "changed", f"{where}, from line {start + 1}:"
    for sign, lines in (("-", a[start : len(a) - end]), ("+", b[start : len(b) - end])):
        for line in lines[:MOST_LINES]:
            yield sign, f"  {sign} {line[:VALUE_WIDTH]}{'…' if len(line) > VALUE_WIDTH else ''}"
        if len(lines) > MOST_LINES:
            yield sign, f"  {sign} … {len(lines) - MOST_LINES} more lines"


def _json(value: Any) -> str:
    import json

    return _cut(json.dumps(value, ensure_ascii=False))


def _is_cut(line: str) -> bool:
    return "… " in line or line.endswith(("…", ":"))


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_WIDTH else f"{text[:VALUE_WIDTH]}… ({len(text)} characters)"
