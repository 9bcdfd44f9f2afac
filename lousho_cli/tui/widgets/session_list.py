"""The rows of the list of sessions. Only those that can be seen are drawn, so ten thousand cost as much as ten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lousho_cli.app.moments import age
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import cell
from lousho_cli.tui.state.columns import Columns, columns_of, indented
from lousho_cli.tui.state.session_rows import SIGNS, Line, Row
from lousho_cli.tui.widgets.own_style import OwnStyles

_PARTS = {
    "cursor": "bold $block-cursor-foreground on $block-cursor-background",
    "blurred": "on $panel",
    "heading": "bold $primary",
    "faint": "$foreground 60%",
    "runs": "bold $success",
    "waits": "bold $warning",
    "stopped": "$accent",
    "unasked": "$foreground 60%",
    "done": "$success",
    "failed": "$error",
    "aborted": "$foreground 60%",
    "damaged": "bold $error",
    "cleared": "$foreground 60%",
}


class SessionList(ScrollView, can_focus=True):
    """Shows lines; says where the person is."""

    BINDINGS = bindings("sessions")

    class Moved(Message):
        """The person is at another session; ``opened``: and wants to go on into it."""

        def __init__(self, session_id: str, *, opened: bool = False) -> None:
            self.session_id = session_id
            self.opened = opened
            super().__init__()

    class Measured(Message):
        """The columns have other widths."""

        def __init__(self, columns: Columns) -> None:
            self.columns = columns
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self._own = OwnStyles(self, _PARTS)
        self._lines: Sequence[Line] = ()
        self._at = 0
        self._moved = False
        self._wanted: str | None = None
        self._columns = Columns()
        self._now: datetime | None = None

    @property
    def current(self) -> str | None:
        """The id of the session at the cursor; None on a heading and in an empty list."""
        row = self._lines[self._at].row if self._at < len(self._lines) else None
        return row.id if row is not None else None

    def show(self, lines: Sequence[Line], now: datetime, *, settled: bool = True) -> None:
        """Shows other lines. The cursor stays on its session where it is still listed; else it stays at its line.

        Args:
            now: ages are told by it.
            settled: False while the newest may still have to be found: until the person has moved, the cursor is at the first.
        """
        before = self.current
        self._lines = lines
        self._now = now
        self._measure()
        found = self._where(self._wanted) if self._wanted is not None else None
        if found is not None:
            self._wanted = None
        elif settled or self._moved:
            found = self._where(before)
        self._go(self._at if found is None else found, said=found is None)

    def go_to(self, session_id: str) -> None:
        """Moves to a session, as soon as it is listed."""
        self._moved = True
        found = self._where(session_id)
        if found is None:
            self._wanted = session_id
        else:
            self._go(found)

    def _where(self, session_id: str | None) -> int | None:
        return next((at for at, line in enumerate(self._lines) if line.row is not None and line.row.id == session_id), None)

    def notify_style_update(self) -> None:
        self._own.forget()
        super().notify_style_update()

    def on_resize(self) -> None:
        self._measure()
        self._follow()

    def watch_show_vertical_scrollbar(self) -> None:
        """It takes a column away, or gives it back."""
        self._measure()
        self.refresh()

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _measure(self) -> None:
        self._columns = columns_of(self._lines, self._width)
        self.virtual_size = Size(self._width, len(self._lines))
        self.post_message(self.Measured(self._columns))

    def _go(self, at: int, *, said: bool = True, down: bool = True) -> None:
        if not self._lines:
            self._at = 0
            return
        at = min(max(at, 0), len(self._lines) - 1)
        step = 1 if down else -1
        while 0 <= at < len(self._lines) and self._lines[at].row is None:
            at += step  # a heading is no place to stop
        if at < 0:  # the first line is one
            at = 1
        self._at = at
        self._follow()
        self.refresh()
        if said and (session_id := self.current) is not None:
            self.post_message(self.Moved(session_id))

    def _follow(self) -> None:
        self.scroll_to_region(Region(0, self._at, 1, 1), animate=False, force=True, x_axis=False)

    def action_down(self) -> None:
        self._move(self._at + 1)

    def action_up(self) -> None:
        self._move(self._at - 1, down=False)

    def action_page_down(self) -> None:
        self._move(self._at + max(self.size.height - 1, 1))

    def action_page_up(self) -> None:
        self._move(self._at - max(self.size.height - 1, 1), down=False)

    def action_first(self) -> None:
        self._move(0)

    def action_last(self) -> None:
        self._move(len(self._lines) - 1, down=False)

    def _move(self, at: int, *, down: bool = True) -> None:
        """The person goes there."""
        self._moved, self._wanted = True, None
        self._go(at, down=down)

    def action_open(self) -> None:
        self._moved = True
        if (session_id := self.current) is not None:
            self.post_message(self.Moved(session_id, opened=True))

    def on_click(self, event: Click) -> None:
        at = event.y + self.scroll_offset.y
        if at < len(self._lines):
            self._move(at)
            if event.chain == 2:
                self.action_open()

    def render_line(self, y: int) -> Strip:
        width = self._width
        at = y + self.scroll_offset.y
        base = self._own.base
        if at >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[at]
        if line.row is None:
            return Strip([Segment(cell(line.heading, width), base + self._own.of("heading"))], width)
        strip = Strip(self._segments(line.row, line.depth)).adjust_cell_length(width)
        if at != self._at:
            return strip.apply_style(base)
        if not self.has_focus:
            return strip.apply_style(base + self._own.of("blurred"))
        cursor = base + self._own.of("cursor")
        return Strip([Segment(segment.text, cursor) for segment in strip], width)

    def _segments(self, row: Row, depth: int) -> list[Segment]:
        columns = self._columns
        mood, faint, plain = self._own.of(row.mood), self._own.of("faint"), Style()
        told = age(row.updated_at, self._now) if self._now is not None else ""
        parts = [Segment(f"{SIGNS[row.mood]} ", mood), Segment(cell(indented(row, depth), columns.id), plain)]
        if columns.agent:
            parts.append(Segment(" " + cell(row.agent, columns.agent), faint))
        if columns.note:
            parts.append(Segment(" " + cell(row.note, columns.note), mood))
        parts.append(Segment(cell(str(row.step) if row.step else "-", columns.step, right=True), faint))
        parts.append(Segment(cell(told, columns.age, right=True), faint))
        return parts
