"""Every key, from the one table."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from lousho_cli.tui.keys import KEYS, display


class HelpScreen(ModalScreen[None]):
    """A box over the screen; any of ``?``, escape and enter closes it."""

    BINDINGS = [("escape,enter,question_mark", "dismiss", "close"), ("q", "app.quit", "leave")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(_words(), markup=False)


def _words() -> Content:
    parts: list[tuple[str, str]] = []
    where = ""
    width = max(len(display(key)) for key in KEYS) + 2
    for key in KEYS:
        if key.where != where:
            where = key.where
            parts.append((f"{'' if not parts else chr(10)}{where}\n", "bold $primary"))
        parts += [(f"  {display(key):<{width}}", "$accent"), (f"{key.words}\n", "")]
    return Content.assemble(*parts)
