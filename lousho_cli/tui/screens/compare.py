"""Two checkpoints, or two sessions, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from lousho_cli.app.comparing import compare, pairs_of
from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import said_of
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import content, line
from lousho_cli.tui.state.commands import command
from lousho_cli.tui.state.comparison import differing, side, verdict
from lousho_cli.tui.state.outline import Node, Outline
from lousho_cli.tui.widgets.document import Document
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


class CompareScreen(Screen[None]):
    """The verdict on top, one side left and one right; whoever moves in one moves the other to the same step.

    Args:
        a, b: sessions, or addresses in them.
    """

    BINDINGS = bindings("comparison")
    DEFAULT_CSS = """
    CompareScreen Document { border: round $foreground 30%; border-title-color: $foreground; }
    CompareScreen Document:focus { border: round $primary; border-title-color: $primary; border-title-style: bold; }
    CompareScreen #verdict { height: 35%; }
    CompareScreen #a, CompareScreen #b { width: 1fr; height: 1fr; }
    CompareScreen Horizontal { height: 1fr; }
    """

    def __init__(self, a: str, b: str) -> None:
        super().__init__()
        self.a, self.b = a, b
        self._differing: list[int] = []

    def compose(self) -> ComposeResult:
        yield TopLine("compare")
        yield Document(id="verdict")
        with Horizontal():
            yield Document(id="a")
            yield Document(id="b")
        yield KeyLine()

    def on_mount(self) -> None:
        for name, title in (("verdict", "reading …"), ("a", f"A  {self.a}"), ("b", f"B  {self.b}")):
            self.query_one(f"#{name}", Document).border_title = content(line(title, 80))
        self.query_one("#a", Document).focus()
        self._read()

    @work(group="compare")
    async def _read(self) -> None:
        top = self.query_one("#verdict", Document)
        try:
            compared, _ = await self.program.reader.look(lambda store: compare(store, self.a, self.b))
        except SDKError as error:
            if not self.query("#b"):
                return
            top.show(Outline([Node("trouble", said_of(error), "error", "text")]))
            top.border_title = "not compared"
            return
        if not self.query("#b"):
            return  # it was left meanwhile
        pairs = pairs_of(compared)
        self._differing = differing(compared, pairs)
        top.show(Outline(verdict(self.a, self.b, compared)))
        top.border_title = "what differs"
        with self.prevent(Document.Moved):
            self.query_one("#a", Document).show(Outline(side(compared, pairs, "a")))
            self.query_one("#b", Document).show(Outline(side(compared, pairs, "b")))

    def on_document_moved(self) -> None:
        moved = self.focused
        if not isinstance(moved, Document) or moved.id == "verdict":
            return
        other = self.query_one("#b" if moved.id == "a" else "#a", Document)
        if other.top_level != moved.top_level:
            with other.prevent(Document.Moved):
                other.go_to_top_level(moved.top_level)

    def action_text(self, name: str) -> None:
        """Moves in the text that has the focus."""
        if isinstance(self.focused, Document):
            getattr(self.focused, f"action_{name}")()

    def action_next_change(self, way: int) -> None:
        """Goes to the next step that differs, on both sides."""
        left = self.query_one("#a", Document)
        at = left.top_level
        further = [one for one in self._differing if (one > at if way > 0 else one < at)] or self._differing
        if further:
            number = further[0] if way > 0 else further[-1]
            left.focus()
            for name in ("#a", "#b"):
                self.query_one(name, Document).go_to_top_level(number)

    def on_document_left_behind(self) -> None:
        self.action_back()

    def action_copy(self) -> None:
        self.program.copy(command("diff", self.a, self.b, choice=self.program.actor.choice))

    def action_back(self) -> None:
        """Leaves for where the person came from."""
        self.dismiss(None)

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
