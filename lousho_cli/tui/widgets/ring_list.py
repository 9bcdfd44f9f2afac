"""The rows of a ring. Only those that can be seen are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lousho_cli.app.moments import age
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import cell, line
from lousho_cli.tui.state.ring_rows import Line, Row
from lousho_cli.tui.widgets.own_style import OwnStyles

_PARTS = {
    "cursor": "bold $background on $primary",
    "blurred": "on $panel",
    "good": "$success",
    "waits": "bold $warning",
    "bad": "$error",
    "note": "$secondary",
    "plain": "",
    "runs": "bold $success",
    "faint": "$foreground 60%",
}


class RingList(ScrollView, can_focus=True):
    """Shows the lines of a ring; says at which checkpoint the person is."""

    BINDINGS = bindings("ring")
    DEFAULT_CSS = "RingList { height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }"

    class Moved(Message):
        """The person is at another checkpoint; ``opened``: and wants to read it."""

        def __init__(self, row: Row, *, opened: bool = False) -> None:
            self.row = row
            self.opened = opened
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self._own = OwnStyles(self, _PARTS)
        self._rows: Sequence[Line] = ()
        self._at = 0
        self._now: datetime | None = None

    @property
    def current(self) -> Row | None:
        """The checkpoint at the cursor; None in an empty ring."""
        return self._rows[self._at].row if self._at < len(self._rows) else None

    @property
    def at_newest(self) -> bool:
        """Whether the cursor is at the first checkpoint, or there is none."""
        return all(one.row is None for one in self._rows[: self._at])

    def show(self, lines: Sequence[Line], now: datetime, keep: str | None) -> None:
        """Shows other lines.

        Args:
            now: ages are told by it.
            keep: the address at which the cursor stays where it is still there; None puts it at the newest.
        """
        before = self.current
        self._rows, self._now = lines, now
        self.virtual_size = Size(self.size.width, len(lines))
        first = next((at for at, one in enumerate(lines) if one.row is not None), 0)
        self._at = next((at for at, one in enumerate(lines) if keep is not None and one.row is not None and one.row.address == keep), first)
        self._follow()
        self.refresh()
        if self.current is not None and (before is None or before.address != self.current.address):
            self.post_message(self.Moved(self.current))

    def go_to(self, address: str) -> bool:
        """Moves to a checkpoint; False where it is not kept."""
        for at, one in enumerate(self._rows):
            if one.row is not None and one.row.address == address:
                self._go(at, 1)
                return True
        return False

    def notify_style_update(self) -> None:
        self._own.forget()
        super().notify_style_update()

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._rows))
        self._follow()

    def _follow(self) -> None:
        last = self._at
        while last + 1 < len(self._rows) and self._rows[last + 1].row is None:
            last += 1  # what happened before a checkpoint is seen with it, where there is room
        first = 0 if self.at_newest else self._at
        tall = min(last - first + 1, max(self.size.height, 1))
        self.scroll_to_region(Region(0, first, 1, tall), animate=False, force=True, x_axis=False)

    def _go(self, at: int, way: int) -> None:
        at = min(max(at, 0), max(len(self._rows) - 1, 0))
        while 0 <= at < len(self._rows) and self._rows[at].row is None:
            at += way
        if not 0 <= at < len(self._rows) or at == self._at:
            return
        self._at = at
        self._follow()
        self.refresh()
        if self.current is not None:
            self.post_message(self.Moved(self.current))

    def action_down(self) -> None:
        self._go(self._at + 1, 1)

    def action_up(self) -> None:
        self._go(self._at - 1, -1)

    def action_page_down(self) -> None:
        target = self._at + max(self.size.height - 1, 1)
        self._go(target, 1 if target < len(self._rows) else -1)

    def action_page_up(self) -> None:
        target = self._at - max(self.size.height - 1, 1)
        self._go(target, -1 if target > 0 else 1)

    def action_first(self) -> None:
        self._go(0, 1)

    def action_last(self) -> None:
        self._go(len(self._rows) - 1, -1)

    def action_open(self) -> None:
        if self.current is not None:
            self.post_message(self.Moved(self.current, opened=True))

    def on_click(self, event: Click) -> None:
        at = event.y + self.scroll_offset.y
        while 0 < at < len(self._rows) and self._rows[at].row is None:
            at -= 1
        self._go(at, 1)
        if event.chain == 2:
            self.action_open()

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if at >= len(self._rows) or width <= 0:
            return Strip.blank(width, self._own.base)
        one = self._rows[at]
        base = self._own.base
        if one.row is None:
            style = self._tone(one.tone)
            said = cell(f"{one.sign} {line(one.text, width)}", width - 4)
            return Strip([Segment("   "), Segment(said, style)]).adjust_cell_length(width, base).apply_style(base)
        strip = Strip(self._segments(one.row, width)).adjust_cell_length(width, base)
        if at == self._at and self.has_focus:
            cursor = self._own.of("cursor")
            return Strip([Segment(segment.text, base + cursor) for segment in strip], width)
        return strip.apply_style(base + self._own.of("blurred") if at == self._at else base)

    def _tone(self, tone: str) -> Style:
        return self._own.of(tone)

    def _segments(self, row: Row, width: int) -> list[Segment]:
        faint, tone = self._tone("faint"), self._tone(row.tone)
        numbers = max((cell_len(one.row.name) for one in self._rows if one.row is not None), default=1)
        behind: list[tuple[str, int]] = []
        if row.at or row.size:
            behind = [(row.tokens, 6)] if width >= 34 else []
            behind += [(row.cost, 8)] if width >= 64 else []
            behind += [(row.size, 8)] if width >= 50 else []
            behind += [(age(row.at, self._now) if self._now is not None else "", 5)]
        room = width - 2 - numbers - 1 - sum(size for _, size in behind)
        live = not row.at and not row.size
        words = f"{row.status}  {row.added}" if live else row.added
        parts = [
            Segment(f"{row.sign} ", tone),
            Segment(cell(row.name, numbers) + " ", Style(bold=True)),
            Segment(cell(words, room), tone if live or row.tone == "bad" else Style()),
        ]
        return parts + [Segment(cell(text, size, right=True), faint) for text, size in behind]
