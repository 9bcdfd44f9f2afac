"""The names of the tabs of a checkpoint, with the one that is open."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from lousho_cli.tui.state.checkpoint_view import TABS, Tab


class TabLine(Widget):
    """One line of tabs, each with the number that opens it; numbers are left out where there is no room for them."""

    DEFAULT_CSS = "TabLine { height: 1; background: $panel; }"
    tab: reactive[Tab] = reactive[Tab]("transcript")

    class Chosen(Message):
        """The person clicked on a tab."""

        def __init__(self, tab: Tab) -> None:
            self.tab = tab
            super().__init__()

    def _parts(self) -> list[tuple[Tab, str]]:
        numbered = [(tab, f"{number} {tab} ") for number, tab in enumerate(TABS, 1)]
        if sum(len(text) for _, text in numbered) <= self.size.width:
            return numbered
        names = [(tab, f"{tab} ") for tab in TABS]
        if sum(len(text) for _, text in names) <= self.size.width:
            return names
        return [(tab, f"{tab} " if tab == self.tab else f"{tab[:3]} ") for tab in TABS]

    def render(self) -> RenderResult:
        return Content.assemble(
            *((text, "bold $background on $primary" if tab == self.tab else "$foreground 80%") for tab, text in self._parts())
        )

    def on_click(self, event: Click) -> None:
        at = event.x
        for tab, text in self._parts():
            if at < len(text):
                self.post_message(self.Chosen(tab))
                return
            at -= len(text)
