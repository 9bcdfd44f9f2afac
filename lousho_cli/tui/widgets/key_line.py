"""The last line of a screen: the keys that hold where the person is.

Textual's footer makes a widget of each key, and makes them all anew whenever the focus goes elsewhere, which takes longer
than everything else a key press does. This is one line that is drawn again.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.widget import Widget

_GAP = 2


class Shown(NamedTuple):
    """A key with a place in the line. ``pressed``: as Textual names it; ``everywhere``: it holds wherever the person is."""

    pressed: str
    name: str
    words: str
    everywhere: bool

    @property
    def width(self) -> int:
        return cell_len(self.name) + 1 + cell_len(self.words)


class KeyLine(Widget):
    """Shows the keys of the table that are worth a place there. A click presses one.

    Where there is no room for all, those that hold everywhere stay, as the way out is among them.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "KeyLine { dock: bottom; height: 1; padding: 0 1; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[Shown, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._again)

    def _again(self, screen: Screen[object]) -> None:
        """Other keys may hold now."""
        keys = keys_of(screen)
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def _fitting(self) -> list[tuple[int, Shown]]:
        """Those that there is room for, each with the column at which it begins."""
        room = self.size.width
        gap = _GAP if sum(key.width + _GAP for key in self._keys) - _GAP <= room else 1
        found: list[tuple[int, Shown]] = []
        at, kept = 0, sum(key.width + gap for key in self._keys if key.everywhere)
        for key in self._keys:
            kept -= key.width + gap if key.everywhere else 0
            if at + key.width + kept <= room:
                found.append((at, key))
                at += key.width + gap
        return found

    def render(self) -> RenderResult:
        parts: list[tuple[str, str]] = []
        end = 0
        for at, key in self._fitting():
            parts += [(" " * (at - end), ""), (key.name, "bold $accent"), (f" {key.words}", "$foreground")]
            end = at + key.width
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        for at, key in self._fitting():
            if place is not None and at <= place.x < at + key.width:
                self.app.simulate_key(key.pressed)


def keys_of(screen: Screen[object]) -> tuple[Shown, ...]:
    """The keys that hold on a screen now and are worth a place in the line, those of what has the focus first."""
    found: dict[str, Shown] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.show and active.enabled and binding.action not in found:
            found[binding.action] = Shown(binding.key, screen.app.get_key_display(binding), binding.description, active.node is screen.app)
    return tuple(found.values())
