"""Every key, from the one table."""

from __future__ import annotations

from collections.abc import Collection

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from lousho_cli.tui.keys import KEYS, Place, display


class HelpScreen(ModalScreen[None]):
    """A box over the screen; any of ``?``, escape and enter closes it.

    Args:
        here: the places in which the person is. Their keys stand first.
    """

    BINDINGS = [
        ("escape,enter,question_mark", "dismiss", "close"),
        ("q", "app.quit", "leave"),
        ("j", "scroll('down')", "down"),
        ("k", "scroll('up')", "up"),
        ("space", "scroll('page_down')", "a page down"),
        ("b", "scroll('page_up')", "a page up"),
    ]

    def __init__(self, here: Collection[Place] = ()) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title, box.border_subtitle = "keys", "↑ ↓ for more, escape closes"
            yield Static(_words(self._here), markup=False)

    def action_scroll(self, way: str) -> None:
        """Moves the text, as the arrows do."""
        getattr(self.query_one("#help"), f"action_{'scroll_' if way in ('down', 'up') else ''}{way}")()


def _words(here: Collection[Place]) -> Content:
    parts: list[tuple[str, str]] = []
    where = ""
    width = max(len(display(key)) for key in KEYS) + 2
    places = list(dict.fromkeys(key.where for key in KEYS))
    nearest = [place for place in reversed(places) if place in here]  # the table begins with those that hold everywhere
    order = [*nearest, *(place for place in places if place not in here)]
    for key in sorted(KEYS, key=lambda key: order.index(key.where)):
        if key.where != where:
            where = key.where
            parts.append((f"{'' if not parts else chr(10)}{where}\n", "bold $primary"))
        parts += [(f"  {display(key):<{width}}", "$accent"), (f"{key.words}\n", "")]
    return Content.assemble(*parts)
