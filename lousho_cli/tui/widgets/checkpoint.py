"""One checkpoint, as tabs, each of which can be searched whole."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.widgets import Input

from lousho_cli.errors import SDKError
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import content, line
from lousho_cli.tui.state.checkpoint_view import TABS, Tab
from lousho_cli.tui.state.outline import Node, Outline
from lousho_cli.tui.state.search import Found, first_at
from lousho_cli.tui.widgets.document import Document
from lousho_cli.tui.widgets.pane import Pane
from lousho_cli.tui.widgets.search_line import SearchLine
from lousho_cli.tui.widgets.tab_line import TabLine

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


class CheckpointPane(Pane):
    """Shows one checkpoint of a session."""

    BINDINGS = bindings("checkpoint")
    DEFAULT_CSS = "CheckpointPane { layers: base over; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.address: str | None = None
        self.tab: Tab = "transcript"
        self._session: str | None = None
        self._raw = False
        self._drawn: tuple[str | None, Tab] | None = None
        self._words = ""
        self._found = Found("")
        self._hit: int | None = None
        self._unwanted = Event()
        self._asked = 0

    def compose(self) -> ComposeResult:
        yield TabLine()
        yield Document()
        yield SearchLine()

    def on_mount(self) -> None:
        self.can_focus = False  # what is in it takes the keys
        self.border_title = "checkpoint"
        self._say_nothing("")

    def take_focus(self) -> None:
        self.query_one(Document).focus()

    def show(self, session_id: str | None, address: str | None = None) -> None:
        """Shows another checkpoint. ``address`` as ``show`` takes it; without one nothing is shown until one is chosen."""
        if session_id != self._session:
            self._drawn = None
            self._say_nothing("" if session_id is None else "reading …")
        self._session, self.address = session_id, address
        self.border_title = content(line(address, 80)) if address is not None else "checkpoint"
        if session_id is not None and address is not None:
            self._load()

    def changed(self) -> None:
        """Another process wrote to the session that is shown: reads it again where what is shown is its end."""
        if self.address is not None and "@" not in self.address:
            self._load()

    @work(group="checkpoint")
    async def _load(self) -> None:
        """Reads the tab that is open. What was asked for before is given up."""
        self._asked += 1
        mine = self._asked
        self._unwanted.set()
        session, address, tab = self._session, self.address, self.tab
        if session is None or address is None or self._gone:
            return
        reader = self.program.reader.session(session)
        try:
            outline = await reader.outline(address, tab, raw=self._raw, wanted=lambda: self._asked == mine)
        except SDKError as error:
            if not self._gone:
                self._drawn = None
                self._say_nothing(error.detail)
            return
        if outline is None or self._asked != mine or self._gone:
            return
        document = self.query_one(Document)
        same = self._drawn == (session, tab)
        newest = tab == "transcript" and (not same or document.at_end)
        document.show(outline, keep=same and not newest, end=newest)
        self._drawn = (session, tab)
        self._hit = None
        if self._words:
            self._search(jump=False)

    def _say_nothing(self, why: str) -> None:
        """Says in place of a checkpoint why none is shown."""
        self.query_one(Document).show(Outline((Node("nothing", why, "faint", "text"),) if why else ()))

    def on_tab_line_chosen(self, message: TabLine.Chosen) -> None:
        self._open(message.tab)

    def action_tab(self, number: int) -> None:
        self._open(TABS[number - 1])

    def action_next_tab(self, way: int) -> None:
        self._open(TABS[(TABS.index(self.tab) + way) % len(TABS)])

    def _open(self, tab: Tab) -> None:
        self.tab = tab
        self.query_one(TabLine).tab = tab
        self._load()

    def action_text(self, name: str) -> None:
        """Moves in the text, or opens and closes in it."""
        getattr(self.query_one(Document), f"action_{name}")()

    def on_document_left_behind(self) -> None:
        self.run_worker(self.screen.run_action("screen.back"))

    def action_as_written(self) -> None:
        """Shows Markdown and JSON as they were written, or laid out again."""
        self._raw = not self._raw
        self._load()

    def action_fold_all(self) -> None:
        """Closes everything at the top, or opens it where nothing is open."""
        self.query_one(Document).outline.choose_top()
        self._load()

    def action_search(self) -> None:
        self.query_one(SearchLine).open()

    def action_leave(self) -> None:
        """Ends a search; else goes a step to the left."""
        if self._words:
            self._end_search()
        else:
            self.on_document_left_behind()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._words = event.value
        self._search(jump=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(SearchLine).close()
        self.take_focus()
        if not self._words:
            self._end_search()

    def on_search_line_ended(self) -> None:
        self._end_search()

    def _end_search(self) -> None:
        box = self.query_one(SearchLine)
        box.close()
        self._words = ""
        with box.prevent(Input.Changed):
            box.value = ""
        self.take_focus()
        self._search(jump=False)

    @property
    def _gone(self) -> bool:
        """Whether the program was left meanwhile."""
        return not self.query(Document)

    @work(group="search")
    async def _search(self, *, jump: bool) -> None:
        """Looks for the words in all of the tab; goes to the first place from here on where that is wanted."""
        if self._gone:
            return
        self._unwanted.set()
        document, words = self.query_one(Document), self._words
        document.search_for(words)
        self._found, self._hit = Found(words), None
        if not words or self._session is None:
            self._say_count()
            return
        stopped = self._unwanted = Event()
        self.border_subtitle = "searching …"
        outline = document.outline
        found = await self.program.reader.session(self._session).search(outline, words, stopped)
        if stopped.is_set() or document.outline is not outline or self._gone:
            return
        self._found = found
        if jump and found.hits:
            self._go_to(first_at(found, document.passed))
        self._say_count()

    def _go_to(self, at: int) -> None:
        self._hit = at
        self.query_one(Document).go_to(self._found.hits[at])
        self._say_count()

    def _say_count(self) -> None:
        self.border_subtitle = content(f"{line(self._words, 20)}: {self._found.said(self._hit)}") if self._words else ""

    def action_next_match(self) -> None:
        self._step(1)

    def action_previous_match(self) -> None:
        self._step(-1)

    def _step(self, way: int) -> None:
        hits = self._found.hits
        if not hits:
            return
        if self._hit is None:
            at = first_at(self._found, self.query_one(Document).passed)
            self._go_to(at if way > 0 else (at - 1) % len(hits))
        else:
            self._go_to((self._hit + way) % len(hits))

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
