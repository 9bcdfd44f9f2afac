"""The family of a session: which branch left which, and at what step."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lousho_cli.tui.keys import bindings
from lousho_cli.tui.messages import SessionChosen
from lousho_cli.tui.plain import cell, line
from lousho_cli.tui.state.fork_tree import Branch
from lousho_cli.tui.widgets.own_style import OwnStyles

_PARTS = {"cursor": "bold $background on $primary", "stem": "$secondary", "here": "bold $primary", "faint": "$foreground 60%"}

_MOST, _FEW = 8, 3
"""So many lines of it are seen at once: in a tall pane, and in a low one."""


class ForkTree(ScrollView, can_focus=True):
    """Shows the branches of a family, and opens one. It is not seen where a session has no family."""

    BINDINGS = bindings("forks")
    DEFAULT_CSS = """
    ForkTree { height: auto; display: none; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }
    ForkTree { border-top: solid $foreground 30%; border-title-color: $foreground 70%; }
    ForkTree.-family { display: block; }
    ForkTree:focus { border-top: solid $primary; border-title-color: $primary; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._own = OwnStyles(self, _PARTS)
        self._branches: Sequence[Branch] = ()
        self._at = 0

    def notify_style_update(self) -> None:
        self._own.forget()
        super().notify_style_update()

    def on_mount(self) -> None:
        self.border_title = "forks"

    def show(self, found: Sequence[Branch], *, tall: bool = True) -> None:
        """Shows another family, in a tall pane or in a low one.

        The cursor is at the session that is open, or stays at its branch where the family is the same.
        """
        before = self._branches[self._at].id if self._at < len(self._branches) else None
        same = {one.id for one in found} == {one.id for one in self._branches}
        self._branches = found
        here = next((at for at, one in enumerate(found) if (one.id == before if same else one.here)), 0)
        self._at = here
        self.set_class(len(found) > 1, "-family")
        if len(found) > 1:
            self.styles.height = min(len(found), _MOST if tall else _FEW) + 1
        self.virtual_size = Size(self.size.width, len(found))
        self._go(here)
        self.refresh()

    def _go(self, at: int) -> None:
        self._at = min(max(at, 0), max(len(self._branches) - 1, 0))
        self.scroll_to_region(Region(0, self._at, 1, 1), animate=False, force=True, x_axis=False)
        self.refresh()

    def action_down(self) -> None:
        self._go(self._at + 1)

    def action_up(self) -> None:
        self._go(self._at - 1)

    def action_open(self) -> None:
        if self._at < len(self._branches) and not self._branches[self._at].gone:
            self.post_message(SessionChosen(self._branches[self._at].id, opened=True))

    def on_click(self, event: Click) -> None:
        self._go(event.y - 1 + self.scroll_offset.y)
        if event.chain == 2:
            self.action_open()

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if at >= len(self._branches) or width <= 0:
            return Strip.blank(width, self._own.base)
        one, base = self._branches[at], self._own.base
        remark = f" {one.left}" if one.left else ""
        name = f"{'●' if one.here else '○'} {line(one.name, width)}"
        room = max(width - len(one.stem) - cell_len(remark), 8)
        left = room - cell_len(name) - 2
        segments = [
            Segment(one.stem, self._part("stem")),
            Segment(cell(name, min(room, cell_len(name))), self._part("here") if one.here else Style()),
            Segment(remark, self._part("stem")),
            Segment(f"  {cell(one.state, min(left, len(one.state)))}" if left > 3 else "", self._part("faint")),
        ]
        strip = Strip(segments).adjust_cell_length(width, base)
        if at == self._at and self.has_focus:
            cursor = base + self._part("cursor")
            return Strip([Segment(segment.text, cursor) for segment in strip], width)
        return strip.apply_style(base)

    def _part(self, name: str) -> Style:
        return self._own.of(name)
