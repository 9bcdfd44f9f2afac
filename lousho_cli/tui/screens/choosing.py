"""What the keys do by which something is done to the session, or the checkpoint, at the cursor."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from lousho_cli.app.results import PendingItem

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


class Choosing(Screen[None]):
    """A screen on which a session, and perhaps a checkpoint of it, is at the cursor.

    The screens on which something is done are loaded when they are first wanted: they bring all that a run needs.
    """

    @property
    def chosen(self) -> tuple[str | None, str | None]:
        """The session at the cursor, and the address of the checkpoint there; None for none."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.watch(self.app, "sessions", self._again, init=False)

    def _again(self) -> None:
        self.refresh_bindings()  # what waits no longer can not be decided

    def _waits(self, session_id: str | None) -> list[PendingItem]:
        sessions = self.program.sessions
        return [item for item in sessions.pending if item.session == session_id] if sessions is not None else []

    def _driven(self, session_id: str) -> str | None:
        sessions = self.program.sessions
        return next((row.driven for row in sessions.rows if row.id == session_id), None) if sessions is not None else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "decide" or bool(self._waits(self.chosen[0]))

    def action_decide(self, verb: str) -> None:
        """Decides what the session waits for, the oldest first."""
        waits = self._waits(self.chosen[0])
        if waits:
            self.app.push_screen(self.program.decision_screen(waits[0], verb))

    def action_resume(self) -> None:
        """Goes on with the session."""
        session_id = self.chosen[0]
        if session_id is not None:
            from lousho_cli.tui.screens.resume import ResumeScreen

            self.app.push_screen(ResumeScreen(session_id, self._driven(session_id)))

    def action_abort(self) -> None:
        """Asks whether to abort the session's run."""
        session_id = self.chosen[0]
        if session_id is not None:
            from lousho_cli.tui.screens.abort import AbortScreen

            self.app.push_screen(AbortScreen(session_id, self._driven(session_id)))

    def action_fork(self) -> None:
        """Forks from the checkpoint at the cursor."""
        address = self.chosen[1]
        if address is None or not ("@" in address or "#" in address):
            self.program.say("There is no checkpoint at the cursor to fork from.")
            return
        from lousho_cli.tui.screens.fork import ForkScreen

        self.app.push_screen(ForkScreen(address))

    def action_mark(self) -> None:
        """Marks what is at the cursor for a comparison, or takes its mark away; of three marks the oldest goes."""
        at = self.chosen[1] or self.chosen[0]
        if at is None:
            return
        marked = self.program.marked
        self.program.marked = tuple(one for one in marked if one != at) if at in marked else (*marked, at)[-2:]
        self.program.say("marked: " + " and ".join(self.program.marked) if self.program.marked else "nothing is marked")

    def action_compare(self) -> None:
        """Compares both that are marked, or the one that is with what is at the cursor."""
        marked, at = self.program.marked, self.chosen[1] or self.chosen[0]
        both = marked if len(marked) == 2 else (*marked, at) if marked and at is not None and at not in marked else ()
        if len(both) != 2:
            self.program.say("Mark a checkpoint or a session with m, go to another one, and press c.")
            return
        from lousho_cli.tui.screens.compare import CompareScreen

        self.app.push_screen(CompareScreen(both[0], both[1]))

    def action_copy(self) -> None:
        """Copies the address at the cursor."""
        at = self.chosen[1] or self.chosen[0]
        if at is not None:
            self.program.copy(at)

    def action_copy_command(self) -> None:
        """Copies the command line that shows what is at the cursor."""
        at, flag = self.chosen[1] or self.chosen[0], self.program.reader.flag
        if at is not None:
            self.program.copy(shlex.join(["lousho", "show", at, *(["--store", flag] if flag else [])]))

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
