"""A node of a document as lines of the screen. Only what is seen is laid out, once, and kept for as long as it may be seen again."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from itertools import pairwise

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from lousho_cli.tui.markdown import Typesetter
from lousho_cli.tui.plain import harmless, line
from lousho_cli.tui.state.outline import Item, Node
from lousho_cli.tui.wrapping import wrapped

_KEPT = 600
_INDENT = 2


class Layout:
    """Lays items out in the colours of a theme.

    Args:
        tones: the style of each tone, and of ``code`` and ``match``.
    """

    def __init__(self, tones: Mapping[str, Style]) -> None:
        self._tones = tones
        self._typesetter = Typesetter(tones)
        self._kept: OrderedDict[tuple[object, ...], list[Strip]] = OrderedDict()

    def lines(self, item: Item, width: int) -> list[Strip]:
        """The lines of an item, each at most ``width`` cells; at least one."""
        node = item.node
        key = (
            node.text,
            node.label,
            node.aside,
            node.look,
            node.tone,
            node.label_tone,
            item.depth,
            item.opened,
            node.children is None,
            width,
        )
        found = self._kept.get(key)
        if found is None:
            found = self._laid(item, width) or [Strip([])]
            self._kept[key] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _laid(self, item: Item, width: int) -> list[Strip]:
        node = item.node
        indent = min(item.depth * _INDENT, max(width // 3, 0))
        room = max(width - indent - (_INDENT if node.look == "line" or node.label else 0), 4)
        blank = Segment(" " * indent)
        if node.look == "markdown":
            return [Strip([blank, *segments]) for segments in self._typesetter.lines(harmless(node.text), width - indent)]
        marker = ("▾ " if item.opened else "▸ ") if node.children is not None else "  " if node.label else ""
        if node.look == "text":
            return self._text(node, indent, marker, width)
        return [self._line(item, blank, marker, room)]

    def _line(self, item: Item, blank: Segment, marker: str, room: int) -> Strip:
        node = item.node
        heads = item.depth == 0 and node.children is not None
        label = _cut(node.label, room)
        segments = [blank, Segment(marker, self._tones["faint"])]
        if label:
            style = self._tones[node.label_tone]
            segments.append(Segment(label, style + Style(bold=True) if heads else style))
        room -= cell_len(label)
        text = _cut(node.text, room - 1)
        if text:
            segments.append(Segment(f" {text}" if label else text, self._tones[node.tone]))
            room -= cell_len(text) + 1
        aside = _cut(node.aside, room - 2)
        if heads and node.label_tone in _ROLES and room > cell_len(aside) + 3:
            rule = "─" * (room - cell_len(aside) - 2)
            segments.append(Segment(f" {rule} {aside}" if aside else f" {rule}─", self._tones["faint"]))
        elif aside:
            segments.append(Segment(f"  {aside}" if label or text else aside, self._tones["faint"]))
        return Strip(segments)

    def _text(self, node: Node, indent: int, marker: str, width: int) -> list[Strip]:
        label = f"{marker}{_cut(node.label, width // 2)} " if node.label else ""
        under = indent + (_INDENT if node.label else 0)
        room = max(width - under, 4)
        first = max(room - cell_len(label) + _INDENT, 4) if label else room
        pieces = wrapped([(harmless(node.text), self._tones[node.tone])], room, first)
        strips = [Strip([Segment(" " * under), *piece]) for piece in pieces]
        if label:
            strips[0] = Strip([Segment(" " * indent), Segment(label, self._tones[node.label_tone]), *pieces[0]])
        return strips


_ROLES = frozenset({"system", "user", "assistant", "tool", "error", "added"})


def _cut(text: str, room: int) -> str:
    """A text as one harmless line of at most so many cells."""
    if not text or room <= 0:
        return ""
    said = line(text, room + 1)
    if cell_len(said) <= room:
        return said
    return chop_cells(said, room - 1)[0] + "…" if room > 1 else "…"


def highlighted(strip: Strip, wanted: re.Pattern[str], style: Style) -> Strip:
    """A line with every match of a pattern in a style of its own."""
    text = strip.text
    cuts: list[int] = []
    for match in wanted.finditer(text):
        cuts += [cell_len(text[: match.start()]), cell_len(text[: match.end()])]
    if not cuts:
        return strip
    parts = [strip.crop(start, end) for start, end in pairwise([0, *cuts, strip.cell_length])]
    return Strip.join([_over(part, style) if at % 2 else part for at, part in enumerate(parts)])


def _over(strip: Strip, style: Style) -> Strip:
    return Strip([Segment(segment.text, (segment.style or Style()) + style) for segment in strip])


def line_of_match(lines: list[Strip], wanted: re.Pattern[str], nth: int) -> int:
    """The line in which the match with that number stands; the last one with a match where there are fewer."""
    last = 0
    for at, strip in enumerate(lines):
        count = sum(1 for _ in wanted.finditer(strip.text))
        if count:
            last = at
        if nth < count:
            return at
        nth -= count
    return last
