"""How something goes that is being done: its answer as it streams, what it runs, and how it came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from lousho_cli.tui.deeds import Deed, State
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import line
from lousho_cli.tui.state.outline import Outline
from lousho_cli.tui.widgets.document import Document
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho

SIGNS: dict[State, tuple[str, str]] = {
    "runs": ("▶", "bold $success"),
    "done": ("✓", "bold $success"),
    "waits": ("?", "bold $warning"),
    "stopped": ("■", "bold"),
    "failed": ("✗", "bold $error"),
}


def state_of(deed: Deed) -> tuple[str, str]:
    """How it stands, in words with a sign, and the style of it."""
    sign, style = SIGNS[deed.state]
    return f"{sign} {line(deed.ended or ('runs …' if deed.state == 'runs' else deed.state), 600)}", style


class DeedScreen(Screen[None]):
    """Shows one deed. Leaving it does not stop it."""

    BINDINGS = bindings("while it is done")
    DEFAULT_CSS = """
    DeedScreen Document { height: 1fr; padding: 0 1; }
    DeedScreen #deed-end { height: auto; max-height: 8; padding: 0 1; border-top: solid $foreground 30%; }
    """

    def __init__(self, deed: Deed) -> None:
        super().__init__()
        self.deed = deed

    def compose(self) -> ComposeResult:
        yield TopLine(self.deed.words)
        yield Document()
        yield Static(id="deed-end", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(Document).focus()
        self.again()

    def again(self) -> None:
        """Shows what was told since."""
        if not self.query(Document):
            return
        document = self.query_one(Document)
        document.show(Outline(self.deed.story.nodes), keep=not document.at_end, end=True)
        deed = self.deed
        parts: list[tuple[str, str]] = [state_of(deed)]
        if deed.state != "runs":
            parts.append((f"\nsession    {line(deed.session)}", "$foreground 60%"))
        parts.append((f"\n$ {line(deed.command, 2000)}", "$accent"))
        if deed.goes_on:
            parts.append((f"\ngo on with: {line(deed.goes_on, 2000)}", "$foreground 80%"))
        self.query_one("#deed-end", Static).update(Content.assemble(*parts))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "decide":
            return self.deed.state == "waits"
        return self.deed.state == "runs" if action == "abort" else True

    def action_text(self, name: str) -> None:
        """Moves in the text."""
        getattr(self.query_one(Document), f"action_{name}")()

    def on_document_left_behind(self) -> None:
        self.action_back()

    def action_back(self) -> None:
        """Leaves for where the person came from; what runs goes on."""
        self.dismiss(None)

    def action_abort(self) -> None:
        """Asks whether to abort it, as for any other session."""
        from lousho_cli.tui.screens.abort import AbortScreen

        self.app.push_screen(AbortScreen(self.deed.session, "this program"))

    def action_decide(self, verb: str) -> None:
        """Decides what it waits for, in place of this screen."""
        ran = self.deed.ran
        if ran is not None and ran.waits is not None:
            self.app.switch_screen(self.program.decision_screen(ran.waits, verb))

    def action_copy(self) -> None:
        self.program.copy(self.deed.command)

    def action_copy_next(self) -> None:
        self.program.copy(self.deed.goes_on or self.deed.command)

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
