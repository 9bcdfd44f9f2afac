"""The pane of sessions: the list, the filter below it, and what it says when there is nothing to list."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec
from textual.app import ComposeResult
from textual.widgets import Input, Static

from lousho_cli.tui.keys import bindings
from lousho_cli.tui.messages import SessionChosen
from lousho_cli.tui.state.columns import titles
from lousho_cli.tui.state.session_rows import GROUPS, SORTS, Sessions, View, lines_of
from lousho_cli.tui.widgets.pane import Pane
from lousho_cli.tui.widgets.session_list import SessionList
from lousho_cli.tui.widgets.typed_line import LOOKED_FOR, TypedLine

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


_AGES_S = 5
"""How often the ages are told anew."""


class FilterBox(TypedLine):
    """Where the words are typed that a session must hold."""

    BINDINGS = bindings("filter")


class SessionsPane(Pane):
    """Lists what the program has read, as the person wants to see it; posts ``SessionChosen``."""

    BINDINGS = bindings("sessions")

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = View()
        self._settled = False

    def compose(self) -> ComposeResult:
        yield Static(id="columns", markup=False)
        yield SessionList()
        yield Static(id="nothing", markup=False)
        yield FilterBox(placeholder="filter: id, agent, state, words", id="filter", longest=LOOKED_FOR)

    def on_mount(self) -> None:
        self.border_title = "sessions"
        self.query_one("#filter").display = False
        self.watch(self.app, "sessions", self._listed)
        if self.program.follow:
            self.set_interval(_AGES_S, self.again)

    def take_focus(self) -> None:
        """Goes to the list."""
        self.screen.set_focus(self.query_one(SessionList))

    def go_to(self, session_id: str) -> None:
        """Moves to a session, as soon as it is listed."""
        self.query_one(SessionList).go_to(session_id)

    def again(self) -> None:
        """Shows the same list with the ages of now."""
        self._listed(self.program.sessions)

    def _listed(self, sessions: Sessions | None) -> None:
        rows = self.query_one(SessionList)
        lines = lines_of(sessions, self.view) if sessions is not None else ()
        rows.show(lines, self.program.now(), settled=self._settled)
        self._settled = sessions is not None and not sessions.left
        shown = len(lines) - (sum(line.row is None for line in lines) if self.view.group == "agent" else 0)
        self.set_class(not shown, "-empty")
        self.query_one("#nothing", Static).update(self._why_nothing(sessions))
        count = len(sessions.rows) if sessions is not None else 0
        self.border_subtitle = self._said(shown, count)

    def _why_nothing(self, sessions: Sessions | None) -> str:
        if sessions is None:
            return "reading …"
        if sessions.rows:
            return "No session fits the filter.\n\nescape clears it."
        return "No sessions here yet.\n\nStart one in another terminal:\n  lousho run trip"

    def _said(self, shown: int, count: int) -> str:
        parts = [f"{shown} of {count}" if shown != count else f"{count}"]
        if self.view.sort != "newest":
            parts.append(f"by {self.view.sort}")
        if self.view.group != "none":
            parts.append(f"grouped by {self.view.group}")
        return " · ".join(parts)

    def _see(self, view: View) -> None:
        self.view = view
        self._listed(self.program.sessions)

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        self.screen.set_focus(box)  # at once: the next letter is already on its way

    def action_sort(self) -> None:
        self._see(msgspec.structs.replace(self.view, sort=SORTS[(SORTS.index(self.view.sort) + 1) % len(SORTS)]))

    def action_group(self) -> None:
        self._see(msgspec.structs.replace(self.view, group=GROUPS[(GROUPS.index(self.view.group) + 1) % len(GROUPS)]))

    def on_session_list_measured(self, message: SessionList.Measured) -> None:
        self.query_one("#columns", Static).update(titles(message.columns))

    def on_input_changed(self, event: Input.Changed) -> None:
        self._see(msgspec.structs.replace(self.view, words=event.value))

    def on_input_submitted(self) -> None:
        self.take_focus()

    def back(self) -> bool:
        """Closes the filter; False where there was none."""
        box = self.query_one("#filter", Input)
        if not box.display:
            return False
        box.value = ""
        self.take_focus()
        box.display = False
        return True

    def on_session_list_moved(self, message: SessionList.Moved) -> None:
        self.post_message(SessionChosen(message.session_id, opened=message.opened))

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
