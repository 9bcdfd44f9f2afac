"""The rows of the list of sessions. Only those that can be seen are drawn, so ten thousand cost as much as ten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

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


class SessionList(ScrollView, can_focus=True):
    """Shows lines; says where the person is."""

    BINDINGS = bindings("sessions")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "list--cursor",
        "list--blurred",
        "list--heading",
        "list--faint",
        *(f"list--{mood}" for mood in SIGNS),
    }

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
        self._lines: Sequence[Line] = ()
        self._at = 0
        self._columns = Columns()
        self._now: datetime | None = None

    @property
    def current(self) -> str | None:
        """The id of the session at the cursor; None on a heading and in an empty list."""
        row = self._lines[self._at].row if self._at < len(self._lines) else None
        return row.id if row is not None else None

    def show(self, lines: Sequence[Line], now: datetime, keep: str | None) -> None:
        """Shows other lines.

        Args:
            now: ages are told by it.
            keep: the session on which the cursor stays where it is still listed; else it stays at its line.
        """
        self._lines = lines
        self._now = now
        self._measure()
        found = self._where(keep)
        self._go(self._at if found is None else found, said=found is None)

    def go_to(self, session_id: str) -> bool:
        """Moves to a session; False where it is not listed."""
        found = self._where(session_id)
        if found is not None:
            self._go(found)
        return found is not None

    def _where(self, session_id: str | None) -> int | None:
        return next((at for at, line in enumerate(self._lines) if line.row is not None and line.row.id == session_id), None)

    def on_resize(self) -> None:
        self._measure()
        self._follow()

    def _measure(self) -> None:
        self._columns = columns_of(self._lines, self.size.width)
        self.virtual_size = Size(self.size.width, len(self._lines))
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
        self._go(self._at + 1)

    def action_up(self) -> None:
        self._go(self._at - 1, down=False)

    def action_page_down(self) -> None:
        self._go(self._at + max(self.size.height - 1, 1))

    def action_page_up(self) -> None:
        self._go(self._at - max(self.size.height - 1, 1), down=False)

    def action_first(self) -> None:
        self._go(0)

    def action_last(self) -> None:
        self._go(len(self._lines) - 1, down=False)

    def action_open(self) -> None:
        if (session_id := self.current) is not None:
            self.post_message(self.Moved(session_id, opened=True))

    def on_click(self, event: Click) -> None:
        at = event.y + self.scroll_offset.y
        if at < len(self._lines):
            self._go(at)
            if event.chain == 2:
                self.action_open()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[at]
        if line.row is None:
            return Strip([Segment(cell(line.heading, width), self.get_component_rich_style("list--heading"))], width)
        segments = self._segments(line.row, line.depth)
        if at == self._at:
            over = self.get_component_rich_style("list--cursor" if self.has_focus else "list--blurred")
            over = over if self.has_focus else Style(bgcolor=over.bgcolor)
            segments = [Segment(segment.text, (segment.style or Style()) + over) for segment in segments]
        return Strip(segments).adjust_cell_length(width, segments[-1].style)

    def _segments(self, row: Row, depth: int) -> list[Segment]:
        columns = self._columns
        mood = self.get_component_rich_style(f"list--{row.mood}")
        faint = self.get_component_rich_style("list--faint")
        plain = self.rich_style
        told = age(row.updated_at, self._now) if self._now is not None else ""
        parts = [Segment(f"{SIGNS[row.mood]} ", mood), Segment(cell(indented(row, depth), columns.id), plain)]
        if columns.agent:
            parts.append(Segment(" " + cell(row.agent, columns.agent), faint))
        if columns.note:
            parts.append(Segment(" " + cell(row.note, columns.note), mood))
        parts.append(Segment(cell(str(row.step) if row.step else "-", columns.step, right=True), faint))
        parts.append(Segment(cell(told, columns.age, right=True), faint))
        return parts
