"""One thing that a person had done here: how it goes, and what it was on a command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

from lousho_cli.app.signals import Switch
from lousho_cli.tui.state.story import Story

if TYPE_CHECKING:
    from lousho_cli.app.driving import Ran
    from lousho_cli.app.results import ResumeCheck
    from lousho_cli.domain.events import Event

State = Literal["runs", "done", "waits", "failed", "stopped"]


class Deed:
    """One thing that is being done, or was.

    Attributes:
        words: what it is, such as ``approve book_table``. command: the command line that does the same.
        session: the session that it is about, in the end; that of a fork is known once it is made.
        story: what it did so far. state: how it stands. goes_on: the command that goes on from there.
        ended: said in a sentence, once it has. ran: the run that came back, where one did.
        shown: whether what was told since was drawn. switch: stops what it drives. leave: gives up what it waits for.
        moved: is called on the deed's own thread when there is something new to show.
    """

    def __init__(self, words: str, command: str, session: str) -> None:
        self.words, self.command, self.session = words, command, session
        self.story = Story()
        self.state: State = "runs"
        self.ended = ""
        self.goes_on = ""
        self.ran: Ran | None = None
        self.shown = True
        self.switch = Switch()
        self.leave: Callable[[], None] = lambda: None
        self.moved: Callable[[Deed], None] = lambda _: None

    def _told(self) -> None:
        """Has what was told shown, once for all that comes until then."""
        if self.shown:
            self.shown = False
            self.moved(self)

    def on_event(self, event: Event) -> None:
        """An event of the run."""
        self.story.on(event)
        self._told()

    def tell(self, text: str) -> None:
        """A sentence for the person."""
        self.story.tell(text)
        self._told()

    def warn(self, text: str) -> None:
        """Something the person should know."""
        self.story.warn(text)
        self._told()

    def ahead(self, check: ResumeCheck) -> None:
        """What is going to happen, before it does."""
        self.story.ahead(check)
        self._told()

    def end(self, state: State, ended: str) -> None:
        """It has come to its end."""
        self.state, self.ended = state, ended
        self._told()


Act = Callable[[Deed], Awaitable["Ran | None"]]
"""Does it. Tells the deed's story; gives the run that came of it, None where none did."""
