"""Abort the run of a session, once the person has said yes."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Checkbox, Static

from lousho_cli.app.aborting import abort
from lousho_cli.tui.deeds import Act, Deed
from lousho_cli.tui.plain import line
from lousho_cli.tui.screens.act import ActScreen, button
from lousho_cli.tui.state.commands import command
from lousho_cli.tui.widgets.tick import Tick


class AbortScreen(ActScreen):
    """Asks its owner to stop; without one it is settled here."""

    where = "abort"

    def __init__(self, session_id: str, driven: str | None = None) -> None:
        super().__init__()
        self.session_id, self.driven = session_id, driven

    def fields(self) -> ComposeResult:
        yield Static(Content.assemble(("session    ", "$foreground 60%"), (line(self.session_id), "")), markup=False)
        yield Tick("take over from an owner that stays silent for its lease", id="now")

    def buttons(self) -> ComposeResult:
        yield button("abort", "abort its run")
        yield button("keep", "let it be")

    @property
    def _command(self) -> str:
        now = ["--now"] if self.query_one("#now", Checkbox).value else []
        return command("abort", self.session_id, *now, choice=self.program.actor.choice)

    def explain(self) -> None:
        who = f"{self.driven} is asked to stop." if self.driven is not None else "Nobody drives it: it is settled here."
        self.say([(f"Open calls get cancelled results, and the run and its background agents count as aborted. {who}", "")], self._command)

    def press(self, button: str) -> None:
        if button == "keep":
            self.dismiss(None)
            return
        deed = Deed(f"abort {self.session_id}", self._command, self.session_id)
        self.begin(deed, _aborting(self.program.actor.choice.store, self.session_id, now=self.query_one("#now", Checkbox).value))


def _aborting(store: str | None, session_id: str, *, now: bool) -> Act:
    async def act(deed: Deed) -> None:
        done = await abort(store, session_id, deed.tell, now=now)
        if done.by is None and done.agents:
            deed.ended = "its background agents were aborted"
        elif done.by is None:
            deed.ended = "there is nothing to abort"
        elif done.outcome != "aborted":
            deed.ended = f"it came to its own end before it could be aborted: {done.outcome or done.status}"
        elif done.by == "owner":
            deed.ended = "aborted by its owner"
        else:
            deed.ended = "aborted here; " + (f"it was taken over from {done.taken_from}" if done.taken_from else "nobody was driving it")

    return act
