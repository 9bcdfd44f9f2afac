"""The waiting room: everything that waits for a person, with its exact arguments and their digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static

from lousho_cli.app.results import PendingItem
from lousho_cli.tui.plain import content, harmless, line
from lousho_cli.tui.state.session_rows import Sessions
from lousho_cli.tui.state.waits import wait_of
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.top_line import TopLine
from lousho_cli.tui.widgets.wait_list import WaitList

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


class WaitingRoom(Screen[str | None]):
    """A list, longest wait first, and below it the one at the cursor, whole. Gives the session to open, None for none."""

    def compose(self) -> ComposeResult:
        yield TopLine("waiting room")
        yield WaitList()
        with VerticalScroll(id="wait"):
            yield Static("", id="wait-facts")
        yield Static("Nothing waits for a person.", id="nobody")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(WaitList).border_title = "waits for a person"
        self.watch(self.app, "sessions", self._listed)
        self.query_one(WaitList).focus()

    def _listed(self, sessions: Sessions | None) -> None:
        items = sessions.pending if sessions is not None else ()
        self.set_class(not items, "-empty")
        waits = self.query_one(WaitList)
        waits.show(items, self.program.now())
        self._show(waits.current)

    def on_option_list_option_highlighted(self) -> None:
        self._show(self.query_one(WaitList).current)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()

    def _show(self, item: PendingItem | None) -> None:
        pane = self.query_one("#wait")
        pane.border_title = content(line(item.named_tool)) if item is not None else None
        self.query_one("#wait-facts", Static).update(self._whole(item) if item is not None else "")
        pane.scroll_home(animate=False)

    def _whole(self, item: PendingItem) -> Content:
        wait = wait_of(item, self.program.now())
        parts: list[tuple[str, str]] = []
        for name, said in wait.facts:
            parts += [(f"{name:<11}", "$foreground 60%"), (line(said) + "\n", "")]
        parts += [("\narguments\n", "bold $primary"), (harmless("\n".join(wait.args)), "")]
        parts += [("\n\ndecide it with\n", "bold $primary")]
        parts += [(f"  {said}\n", "$accent") for said in wait.commands]
        return Content.assemble(*parts)

    def action_open(self) -> None:
        """Leaves for the session of what is at the cursor."""
        item = self.query_one(WaitList).current
        if item is not None:
            self.dismiss(item.session)

    def action_decide(self, verb: str) -> None:
        """Decides what is at the cursor."""
        item = self.query_one(WaitList).current
        if item is not None:
            self.app.push_screen(self.program.decision_screen(item, verb))

    def action_copy(self) -> None:
        """Copies the id of what is at the cursor."""
        item = self.query_one(WaitList).current
        if item is not None:
            self.program.copy(item.id)

    def action_back(self) -> None:
        """Leaves for where the person came from."""
        self.dismiss(None)

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
