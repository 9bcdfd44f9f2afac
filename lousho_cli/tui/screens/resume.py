"""Go on with a session: what would run again is said before anything does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Button, Input, Static

from lousho_cli.app.people import login_name
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.results import ResumeCheck
from lousho_cli.app.resuming import ResumeOrder, check, resume
from lousho_cli.app.running import RunOrder, run
from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import said_of
from lousho_cli.tui.deeds import Act, Deed
from lousho_cli.tui.plain import line
from lousho_cli.tui.screens.act import ASKS_MODEL, ActScreen, button, label
from lousho_cli.tui.state.commands import queue_command, resume_command
from lousho_cli.tui.state.story import ahead_of
from lousho_cli.tui.widgets.typed_line import TypedLine

if TYPE_CHECKING:
    from lousho_cli.app.driving import Ran

_MEANINGS = {
    "missing-tool": "It would be refused: the agent no longer has a tool that a pending call needs.",
    "drift": "It would be refused: the agent changed, and that is an error here.",
    "in-doubt": "In doubt: a call was started, has no result, and is not known to be safe to repeat.",
    "needs-person": "A person must decide first: press escape, then a.",
    "safe": "It is safe to go on.",
}


class ResumeScreen(ActScreen):
    """Goes on with what did not end, or says something besides.

    Args:
        driven: who drives the session, in words: an input is then left for that owner.
    """

    where = "go on"

    def __init__(self, session_id: str, driven: str | None = None) -> None:
        super().__init__()
        self.session_id, self.driven = session_id, driven
        self.found: ResumeCheck | None = None
        self._trouble = ""

    def fields(self) -> ComposeResult:
        yield Static(Content.assemble(("session    ", "$foreground 60%"), (line(self.session_id), "")), markup=False)
        yield Static("looking at what would run …", id="ahead", markup=False)
        yield label("something to say besides")
        yield TypedLine(id="text")

    def buttons(self) -> ComposeResult:
        yield button("resume", "go on")

    def fill_in(self) -> None:
        self._look()

    @work(group="look")
    async def _look(self) -> None:
        """Asks what going on would do; nothing runs."""
        order = ResumeOrder(self.session_id, choice=self.program.actor.choice)
        try:
            self.found = await self.program.actor.ask(lambda: check(order))
        except SDKError as error:
            self._trouble = said_of(error)
        if self.found is not None:
            self.driven = self.found.driven_by
        if self.gone:
            return
        self.query_one("#ahead", Static).update(self._ahead())
        self.explain()
        self.query_one("#resume", Button).focus()

    def _ahead(self) -> Content:
        found = self.found
        if found is None:
            return Content("")
        parts: list[tuple[str, str]] = []
        if not found.nothing_pending:
            parts.append((_MEANINGS[found.verdict] + "\n", "bold"))
        if found.missing_tools:
            parts.append((line(f"missing: {', '.join(found.missing_tools)}") + "\n", "$error"))
        if found.drift is not None:
            parts.append((line(f"changed: {found.drift.describe()}", 600) + "\n", "$warning"))
        for words, calls in ahead_of(found):
            parts += [(f"{words}: ", "$primary"), (line(calls, 800) + "\n", "")]
        if found.first_request_tokens is not None and not found.nothing_pending:
            parts.append((f"the first request has about {found.first_request_tokens} tokens\n", ""))
        return Content.assemble(*parts).rstrip()

    @property
    def _text(self) -> str:
        return self.query_one("#text", Input).value.strip()

    def _order(self) -> ResumeOrder:
        return ResumeOrder(self.session_id, self._text or None, RunFlags(by=login_name()), self.program.actor.choice)

    def explain(self) -> None:
        found, text = self.found, self._text
        said = [(f"! {self._trouble}", "$error")] if self._trouble else []
        able = found is not None and (bool(text) or (not found.nothing_pending and self.driven is None))
        if self.driven is not None:
            said.append((f"{self.driven} drives this session: what you say is left for it, and it takes it up.", ""))
        elif found is not None and found.nothing_pending and not text:
            said.append(("Nothing is pending. Say something, and the model is asked.", ""))
        elif found is not None:
            runs = [call.name for call in (*found.will_run, *found.may_ask)]
            said.append((f"Runs {', '.join(runs)}, then {ASKS_MODEL}." if runs else f"Goes on: {ASKS_MODEL}.", ""))
        self.may("resume", able=able)
        self.say(said, self._command())

    def _command(self) -> str:
        if self.driven is not None and self._text:
            return queue_command(self.session_id, self._text, self.program.actor.choice)
        return resume_command(self._order())

    def press(self, button: str) -> None:
        if self.driven is not None:
            store = self.program.actor.choice.store
            queued = RunOrder(text=self._text, session=self.session_id, queue=True, flags=RunFlags(by=login_name()), store=store)
            self.begin(Deed(f"say to {self.session_id}", self._command(), self.session_id), _queueing(queued))
        else:
            self.begin(Deed(f"go on with {self.session_id}", self._command(), self.session_id), _resuming(self._order()))


def _resuming(order: ResumeOrder) -> Act:
    async def act(deed: Deed) -> Ran | None:
        ran = await resume(order, deed.on_event, deed.tell, deed.ahead)
        if ran is None or isinstance(ran, str):
            deed.ended = f"nothing is pending in {order.session}"
            return None
        return ran

    return act


def _queueing(order: RunOrder) -> Act:
    async def act(deed: Deed) -> Ran:
        return await run(order, deed.on_event, deed.tell)

    return act
