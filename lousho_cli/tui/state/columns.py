"""How wide each column of the list of sessions is, and a row in those columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from lousho_cli.tui.state.session_rows import Line, Row

_STEP, _AGE = 5, 5  # with the blank before them
_MEASURED = 1000
_ROOM_FOR_NOTES = 34
_ROOM_FOR_AGENTS = 64


class Columns(NamedTuple):
    """Widths in cells, 0 for a column that is left out. A blank goes before each but the sign."""

    id: int = 0
    agent: int = 0
    note: int = 0
    step: int = _STEP
    age: int = _AGE


def columns_of(lines: Sequence[Line], width: int) -> Columns:
    """The columns that fit into ``width`` cells, with the sign before them.

    Args:
        lines: ids and agents are as wide as the longest of the first of them, within bounds.
    """
    left = width - 2 - _STEP - _AGE
    rows = [(line.row, line.depth) for line in lines[:_MEASURED] if line.row is not None]
    longest = max((len(row.id) + 2 * depth for row, depth in rows), default=0)
    if width < _ROOM_FOR_NOTES:
        return Columns(id=max(left, 1))
    id_ = min(max(longest, 8), left * 3 // 5)
    agent = 0
    if width >= _ROOM_FOR_AGENTS:
        agent = max(min(max((cell_len(row.agent) for row, _ in rows), default=0), 16), len("agent"))
    return Columns(id=id_, agent=agent, note=max(left - id_ - 1 - (agent + 1 if agent else 0), 0))


def indented(row: Row, depth: int) -> str:
    """The id, with a branch before it where it stands below another."""
    return f"{'  ' * (depth - 1)}└ {row.id}" if depth else row.id


def titles(columns: Columns) -> str:
    """What stands over the columns."""
    parts = ["  ", "session".ljust(columns.id)[: columns.id]]
    parts += [" " + "agent".ljust(columns.agent)] if columns.agent else []
    parts += [" " + "state".ljust(columns.note)[: columns.note]] if columns.note else []
    return "".join((*parts, "step".rjust(columns.step), "age".rjust(columns.age)))
