"""The three panes: sessions, the ring of one, a checkpoint of it. On a narrow terminal, the sessions, and then the other two."""

from __future__ import annotations

import re

from textual.app import ComposeResult
from textual.containers import Horizontal

from lousho_cli.tui.keys import bindings
from lousho_cli.tui.messages import CheckpointChosen, SessionChosen
from lousho_cli.tui.screens.choosing import Choosing
from lousho_cli.tui.state.session_rows import Row, Sessions
from lousho_cli.tui.widgets.checkpoint import CheckpointPane
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.pane import Pane
from lousho_cli.tui.widgets.ring import RingPane
from lousho_cli.tui.widgets.session_list import SessionList
from lousho_cli.tui.widgets.sessions import SessionsPane
from lousho_cli.tui.widgets.top_line import TopLine


class MainScreen(Choosing):
    """Passes on what was chosen in one pane to the next.

    Args:
        wanted: what to open once the list is there: a session's id, or an address in it.
    """

    def __init__(self, wanted: str | None = None) -> None:
        super().__init__()
        self._wanted = wanted
        self._session: str | None = None
        self._shown: Row | None = None

    BINDINGS = bindings("acting")

    @property
    def chosen(self) -> tuple[str | None, str | None]:
        """Among the sessions, the one at the cursor; else the checkpoint that is looked at."""
        if not self.query(SessionList):
            return None, None  # it is just being made
        if self.has_class("-among-sessions"):
            return self.query_one(SessionList).current, None
        return self._session, self.query_one(CheckpointPane).address

    def compose(self) -> ComposeResult:
        yield TopLine()
        with Horizontal(id="panes"):
            yield SessionsPane(id="sessions")
            yield RingPane(id="ring")
            yield CheckpointPane(id="checkpoint")
        yield KeyLine()

    def on_mount(self) -> None:
        self.watch(self.app, "sessions", self._listed)
        self._at(SessionsPane)

    def open(self, address: str) -> None:
        """Goes to a session, or to a checkpoint of it."""
        session_id = re.split("[@#]", address)[0]
        self.query_one(SessionsPane).go_to(session_id)
        self._choose(session_id, address if address != session_id else None)
        self._at(RingPane)

    def _listed(self, sessions: Sessions | None) -> None:
        """Opens what was asked for, and tells the panes when the session they show has changed."""
        if sessions is None:
            return
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self.call_after_refresh(self.open, wanted)
        row = next((row for row in sessions.rows if row.id == self._session), None)
        if row != self._shown and self._shown is not None:
            self.query_one(RingPane).changed()
            self.query_one(CheckpointPane).changed()
        self._shown = row

    def on_session_chosen(self, message: SessionChosen) -> None:
        self._choose(message.session_id)
        if message.opened:
            self._at(RingPane)

    def _choose(self, session_id: str, address: str | None = None) -> None:
        if session_id == self._session and address is None:
            return
        self._session = session_id
        self._shown = None
        self.query_one(RingPane).show(session_id, address)
        self.query_one(CheckpointPane).show(session_id)
        self.refresh_bindings()

    def on_checkpoint_chosen(self, message: CheckpointChosen) -> None:
        if message.session_id != self._session:
            return  # said before another session was chosen
        self.query_one(CheckpointPane).show(message.session_id, message.address)
        if message.opened:
            self._at(CheckpointPane)

    def _at(self, pane: type[Pane]) -> None:
        """Goes to a pane."""
        self._show_side(among=pane is SessionsPane)
        self.query_one(pane).take_focus()

    def on_descendant_focus(self) -> None:
        """A narrow terminal shows the side that has the focus, however it came there."""
        self._show_side(among=self._is_in(SessionsPane))

    def _show_side(self, *, among: bool) -> None:
        self.set_class(among, "-among-sessions")
        self.set_class(not among, "-in-session")

    def _is_in(self, pane: type[Pane]) -> bool:
        return self.focused is not None and any(isinstance(node, pane) for node in self.focused.ancestors_with_self)

    def action_back(self) -> None:
        """One step to the left; the filter goes last."""
        if self._is_in(CheckpointPane):
            self._at(RingPane)
        elif self._is_in(RingPane) or not self.query_one(SessionsPane).back():
            self._at(SessionsPane)
