"""How wide a terminal is, and how a table's columns fit into it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

GAP = "  "


def width_of(environ: Mapping[str, str], descriptor: int | None) -> int:
    """The width of a terminal: COLUMNS, else what it says itself, else 80. A width of 0 is one that is not known."""
    said = environ.get("COLUMNS", "").strip()
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(descriptor).columns or 80 if descriptor is not None else 80
    except OSError:
        return 80


def fitted(widths: Sequence[int], least: Sequence[int | None], order: Sequence[int], room: int) -> list[int]:
    """Column widths that fit into ``room`` as far as they may shrink.

    Args:
        widths: what each column would take.
        least: what it may shrink to; None may not shrink, whatever that costs: what one has to type is worth more than a neat line.
        order: the columns that may shrink, the first one first.
    """
    fit = list(widths)
    for column in order:
        over = sum(fit) + len(GAP) * (len(fit) - 1) - room
        floor = least[column]
        if over > 0 and floor is not None:
            fit[column] = max(min(floor, fit[column]), fit[column] - over)
    return fit


def cell(text: str, width: int) -> str:
    """``text`` in exactly so many columns of a terminal: padded, or cut with an ellipsis."""
    from rich.cells import cell_len, set_cell_size

    taken = cell_len(text)
    if taken <= width:
        return text + " " * (width - taken)
    return set_cell_size(text, width - 1) + "…"
