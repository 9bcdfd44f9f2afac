"""Text of several styles broken into lines of the screen, by cells."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style

Run = tuple[str, Style]
"""A piece of text and how it looks."""

_WORDS = re.compile(r"\n|[^\S\n]+|\S+")


def wrapped(runs: Iterable[Run], width: int, first: int | None = None) -> list[list[Segment]]:
    """Lines of at most ``width`` cells, broken at blanks where there are any; the first has ``first`` cells where that is given."""
    width = max(width, 2)
    lines: list[list[Segment]] = [[]]
    room = max(width if first is None else first, 1)
    for text, style in runs:
        for word in _WORDS.findall(text):
            if word == "\n":
                lines.append([])
                room = width
                continue
            length = cell_len(word)
            if length <= room:
                _put(lines[-1], word, style)
                room -= length
            elif word.isspace():
                room = 0  # the blanks at a break are not seen
            else:
                room = _broken(lines, word, style, room, width)
    return lines


def _broken(lines: list[list[Segment]], word: str, style: Style, room: int, width: int) -> int:
    """Puts a word that does not fit on further lines; gives the room that is left on the last."""
    if cell_len(word) <= width:
        lines.append([])
        _put(lines[-1], word, style)
        return width - cell_len(word)
    if room < min(8, width):
        lines.append([])
        room = width
    head = chop_cells(word, room)[0]
    pieces = [head, *chop_cells(word[len(head) :], width)]
    for at, piece in enumerate(pieces):
        if at:
            lines.append([])
        _put(lines[-1], piece, style)
    return (room if len(pieces) == 1 else width) - cell_len(pieces[-1])


def _put(line: list[Segment], text: str, style: Style) -> None:
    if line and line[-1].style is style:
        line[-1] = Segment(line[-1].text + text, style)
    else:
        line.append(Segment(text, style))
