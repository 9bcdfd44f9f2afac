"""The first line of a screen: what there is in the store, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import RenderResult
from textual.content import Content
from textual.widget import Widget

from lousho_cli.tui.plain import line
from lousho_cli.tui.state.session_rows import summary

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


class TopLine(Widget):
    """One line, of what the program has read. ``where``: what is looked at, such as ``waiting room``."""

    def __init__(self, where: str = "") -> None:
        super().__init__()
        self._where = where

    def on_mount(self) -> None:
        self.watch(self.app, "sessions", self._again, init=False)
        self.watch(self.app, "trouble", self._again, init=False)
        self.watch(self.app, "marked", self._again, init=False)

    def _again(self) -> None:
        self.refresh()

    def render(self) -> RenderResult:
        program = cast("Lousho", self.app)
        parts: list[tuple[str, str]] = [("lousho", "bold $primary")]
        if self._where:
            parts.append((f"  {line(self._where, 100)}", "bold"))
        running = len(program.actor.running)
        if running:
            parts.append((f"  ▶ {running} run{'s' if running == 1 else ''} here", "bold $success"))
        if program.trouble:
            parts.append(("  ! " + line(program.trouble), "bold $error"))
        elif program.sessions is not None:
            parts.append(("  " + summary(program.sessions), "$foreground 80%"))
        if program.marked:
            parts.append((f"  marked: {line(', '.join(program.marked), 80)}", "$accent"))
        return Content.assemble(*parts)
