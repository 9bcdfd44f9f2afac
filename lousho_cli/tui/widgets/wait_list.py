"""The list in the waiting room: one line for each thing that waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lousho_cli.app.moments import age
from lousho_cli.app.results import PendingItem
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import cell
from lousho_cli.tui.state.session_rows import asked
from lousho_cli.tui.state.waits import expires


class WaitList(OptionList):
    """Shows what waits and keeps the cursor on the same thing while others come and go."""

    BINDINGS = bindings("waiting room")

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.items: Sequence[PendingItem] = ()

    @property
    def current(self) -> PendingItem | None:
        """What the cursor is on."""
        at = self.highlighted
        return self.items[at] if at is not None and at < len(self.items) else None

    def show(self, items: Sequence[PendingItem], now: datetime) -> None:
        """Shows these, oldest first."""
        kept = self.current
        self.items = items
        width = max((len(item.session) for item in items), default=0)
        with self.app.batch_update():
            self.clear_options()
            self.add_options(Option(_line(item, now, min(width, 24))) for item in items)
            ids = [item.id for item in items]
            if items:
                self.highlighted = ids.index(kept.id) if kept is not None and kept.id in ids else 0

    def action_down(self) -> None:
        self.action_cursor_down()

    def action_up(self) -> None:
        self.action_cursor_up()


def _line(item: PendingItem, now: datetime, width: int) -> Content:
    left = expires(item, now)
    said = "" if not left else "  expired" if left == "expired" else f"  expires {left}"
    return Content.assemble(
        ("? ", "bold"),  # no colour of its own: it would be unseen in the line of the cursor
        (cell(item.session, width), ""),
        ("  " + cell(asked(item), 28), "bold"),
        (cell(age(item.created_at, now), 6, right=True), ""),
        (said, "bold" if left == "expired" else ""),
    )
