"""A document on the screen: only the lines that are seen are laid out, whatever its length."""

from __future__ import annotations

import re

from rich.segment import Segment
from rich.style import Style
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lousho_cli.tui.layout import Layout, highlighted, line_of_match
from lousho_cli.tui.state.outline import Item, Outline
from lousho_cli.tui.state.search import Hit, pattern
from lousho_cli.tui.state.viewport import Spot, following, moved
from lousho_cli.tui.widgets.own_style import OwnStyles

_PARTS = {
    "cursor": "on $primary 25%",
    "blurred": "on $background",
    "match": "$background on $warning",
    "hit": "bold $background on $success",
}
_TONES = {
    "plain": "$foreground",
    "heading": "$primary",
    "faint": "$foreground 60%",
    "system": "$foreground 70%",
    "user": "$secondary",
    "assistant": "$primary",
    "tool": "$success",
    "error": "$error",
    "warning": "$warning",
    "good": "$success",
    "key": "$accent",
    "string": "$success",
    "number": "$secondary",
    "constant": "$warning",
    "added": "$success",
    "removed": "$error",
    "code": "$foreground on $panel",
}
_WHEEL = 3


class Document(Widget, can_focus=True):
    """Shows an outline, with a line that the person is at."""

    DEFAULT_CSS = "Document { height: 1fr; background: $background; }"

    class LeftBehind(Message):
        """The person wants to go to what is left of the document."""

    class Moved(Message):
        """Another line is the one that the person is at."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._own = OwnStyles(self, _PARTS | _TONES)
        self._outline = Outline(())
        self._at = Spot()
        self._top = Spot()
        self._typeset: Layout | None = None
        self._tones: dict[str, Style] = {}
        self._stale = True
        self._width = 0
        self._wanted: re.Pattern[str] | None = None
        self._hit: Hit | None = None
        self._window: list[tuple[Spot, Strip]] | None = None

    @property
    def outline(self) -> Outline:
        return self._outline

    @property
    def at_end(self) -> bool:
        """Whether the person is at the last item."""
        return self._at.item >= len(self._outline.items) - 1

    @property
    def passed(self) -> list[tuple[str, ...]]:
        """The ways to the items at the top that end in front of where the person is."""
        at = self._outline.of_top(self._at.item) if self._outline.items else 0
        return [item.path for item in self._outline.items[:at] if not item.depth]

    def show(self, outline: Outline, *, keep: bool = False, end: bool = False) -> None:
        """Shows another document.

        Args:
            keep: the person stays at the same thing where it is still there, and at the same place on the screen.
            end: else the person is at the end.
        """
        before = self._outline
        self._outline = outline
        self._hit = None
        place = self._same(before, self._at) if keep else None
        if place is not None:
            top = self._same(before, self._top)
            self._at, self._top = place, top or place
        elif end:
            self._at = Spot(max(len(outline.items) - 1, 0), 1 << 30)
            self._at = moved(self._at, 0, len(outline.items), self._height) if self.size.width else self._at
            self._top = self._at
        else:
            self._at = self._top = Spot()
        self._redraw()

    def _same(self, before: Outline, spot: Spot) -> Spot | None:
        if spot.item >= len(before.items):
            return None
        found = self._outline.find(before.items[spot.item].path)
        return Spot(found, spot.line) if found is not None else None

    def search_for(self, words: str) -> None:
        """Marks the words wherever they are seen; '' marks nothing."""
        self._wanted = pattern(words) if words else None
        self._hit = None
        self._redraw()

    def go_to(self, hit: Hit) -> None:
        """Moves to a place that a search found, and opens what hides it."""
        at = self._outline.open_to(hit.path)
        if at is None:
            return
        self._hit = hit
        self._at = Spot(at)
        if self._wanted is not None and self.size.width:
            self._at = Spot(at, line_of_match(self._lines(at), self._wanted, hit.nth))
        top = moved(self._at, -(self.size.height // 3), len(self._outline.items), self._height) if self.size.width else self._at
        self._top = top
        self._redraw()

    def _style(self, name: str) -> Style:
        return self._own.of(name)

    def _lines(self, at: int) -> list[Strip]:
        if self._stale or self._typeset is None:
            tones = {tone: self._style(tone) for tone in _TONES}
            if self._typeset is None or tones != self._tones:
                self._typeset, self._tones = Layout(tones), tones
            self._stale = False
        return self._typeset.lines(self._outline.items[at], max(self.size.width - 1, 8))

    def _height(self, at: int) -> int:
        return len(self._lines(at))

    def _redraw(self) -> None:
        self._window = None
        self.refresh()

    def notify_style_update(self) -> None:
        self._stale = True
        self._own.forget()
        self._redraw()
        super().notify_style_update()

    def on_resize(self) -> None:
        if self.size.width != self._width and self._at.line < 1 << 20:
            self._at = Spot(self._at.item)  # its lines are others now
        self._width = self.size.width
        self._redraw()

    def on_focus(self) -> None:
        self._redraw()

    def on_blur(self) -> None:
        self._redraw()

    def _seen(self) -> list[tuple[Spot, Strip]]:
        """What is on the screen: each line, and where it is in the document."""
        if self._window is None:
            count, rows = len(self._outline.items), self.size.height
            self._at = moved(self._at, 0, count, self._height)
            self._top = following(moved(self._top, 0, count, self._height), self._at, rows, count, self._height)
            self._window = []
            item, line = self._top
            while item < count and len(self._window) < rows:
                for at, strip in enumerate(self._lines(item)[line:], line):
                    self._window.append((Spot(item, at), strip))
                item, line = item + 1, 0
        return self._window

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if width < 2:
            return Strip.blank(width, self._own.base)
        seen = self._seen()
        if y >= len(seen):
            return Strip.blank(width, self._own.base)
        spot, strip = seen[y]
        if self._wanted is not None:
            strip = highlighted(strip, self._wanted, self._style("hit" if self._is_hit(spot) else "match"))
        base = self._own.base
        if spot == self._at:
            base += self._style("cursor" if self.has_focus else "blurred")
        strip = strip.adjust_cell_length(width - 1, base).apply_style(base)
        return Strip.join([strip, self._bar(y)])

    def _is_hit(self, spot: Spot) -> bool:
        return self._hit is not None and spot == self._at and self._outline.items[spot.item].path == self._hit.path

    def _bar(self, y: int) -> Strip:
        """One cell at the edge that says how far down the lines stand; nothing where all is seen."""
        count, rows = len(self._outline.items), self.size.height
        seen = self._seen()
        whole = not seen or (seen[0][0] == Spot() and seen[-1][0].item == count - 1 and len(seen) <= rows)
        if whole:
            return Strip([Segment(" ", self._own.base)])
        first, last = seen[0][0].item, seen[min(rows, len(seen)) - 1][0].item
        start = first * rows // count
        end = max((last + 1) * rows // count, start + 1)
        sign = "█" if min(start, rows - 1) <= y < end else "│"
        return Strip([Segment(sign, self._own.base + self._style("faint"))])

    def _go(self, spot: Spot) -> None:
        if spot != self._at:
            self._at = spot
            self._redraw()
            self.post_message(self.Moved())

    def _by(self, lines: int) -> None:
        self._go(moved(self._at, lines, len(self._outline.items), self._height))

    def action_down(self) -> None:
        self._by(1)

    def action_up(self) -> None:
        self._by(-1)

    def _page(self, way: int) -> None:
        count, rows = len(self._outline.items), max(self.size.height - 1, 1)
        self._seen()
        self._top = moved(self._top, way * rows, count, self._height)
        self._by(way * rows)
        self._redraw()

    def action_page_down(self) -> None:
        self._page(1)

    def action_page_up(self) -> None:
        self._page(-1)

    def action_first(self) -> None:
        self._go(Spot())

    def action_last(self) -> None:
        count = len(self._outline.items)
        if count:
            self._go(Spot(count - 1, self._height(count - 1) - 1))

    def action_next_message(self) -> None:
        items = self._outline.items
        at = next((at for at in range(self._at.item + 1, len(items)) if not items[at].depth), None)
        if at is not None:
            self._to_top(at)

    def action_previous_message(self) -> None:
        if self._outline.items:
            at = self._outline.of_top(self._at.item)
            self._to_top(self._outline.of_top(at - 1) if at and self._at == Spot(at) else at)

    def go_to_top_level(self, number: int) -> None:
        """Moves to the item at the top with that number, and has it stand first."""
        tops = [at for at, item in enumerate(self._outline.items) if not item.depth]
        if number < len(tops):
            self._to_top(tops[number])

    @property
    def top_level(self) -> int:
        """The number of the item at the top that the person is in."""
        return sum(not item.depth for item in self._outline.items[: self._at.item + 1]) - 1

    def _to_top(self, at: int) -> None:
        self._top = Spot(at)
        self._go(Spot(at))

    def action_fold(self) -> None:
        """Opens or closes what the person is at; of a text, what it belongs to."""
        at: int | None = self._at.item
        items = self._outline.items
        while at is not None and at < len(items) and items[at].node.children is None:
            at = self._outline.parent(at)
        if at is None or at >= len(items):
            return
        self._outline.toggle(at)
        self._at = Spot(at)
        self._redraw()

    def action_open(self) -> None:
        """Opens what is closed; goes in where it is open."""
        item = self._item
        if item is None:
            return
        if item.node.children is not None and not item.opened:
            self.action_fold()
        else:
            self._by(1)

    def action_close(self) -> None:
        """Closes what is open; goes to what it belongs to, and from the top to the left."""
        item = self._item
        if item is not None and item.opened and item.depth:
            self.action_fold()
            return
        parent = self._outline.parent(self._at.item) if item is not None else None
        if parent is None:
            self.post_message(self.LeftBehind())
        else:
            self._go(Spot(parent))

    @property
    def _item(self) -> Item | None:
        items = self._outline.items
        return items[self._at.item] if self._at.item < len(items) else None

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._wheel(_WHEEL)
        event.stop()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._wheel(-_WHEEL)
        event.stop()

    def _wheel(self, lines: int) -> None:
        self._seen()
        self._top = moved(self._top, lines, len(self._outline.items), self._height)
        self._by(lines)

    def on_click(self, event: Click) -> None:
        seen = self._seen()
        if 0 <= event.y < len(seen):
            self._go(seen[event.y][0])
            item = self._item
            if item is not None and item.node.children is not None and event.chain == 1:  # a double click opens too
                self.action_fold()
