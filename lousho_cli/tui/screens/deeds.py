"""What was done here since the program began: each with the command line that does the same, and how it came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from lousho_cli.tui.deeds import Deed
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import line
from lousho_cli.tui.screens.deed import DeedScreen, state_of
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho


class DeedList(OptionList):
    """One entry a deed."""

    BINDINGS = bindings("what was done")


class DeedsScreen(Screen[None]):
    """The newest first; enter shows how one went."""

    DEFAULT_CSS = """
    DeedList { height: 1fr; background: $background; border: none; padding: 0 1; }
    DeedsScreen #no-deeds { height: 1fr; content-align: center middle; color: $foreground 70%; }
    """

    def compose(self) -> ComposeResult:
        yield TopLine("what was done here")
        deeds = self._deeds
        if deeds:
            yield DeedList(*(Option(_entry(deed)) for deed in deeds), markup=False)
        else:
            yield Static("Nothing was done here yet.", id="no-deeds", markup=False)
        yield KeyLine()

    @property
    def _deeds(self) -> list[Deed]:
        return self.program.actor.deeds[::-1]

    def again(self) -> None:
        """Shows how they stand now."""
        for found in self.query(DeedList):
            for at, deed in enumerate(self._deeds[: found.option_count]):
                found.replace_option_prompt_at_index(at, _entry(deed))

    @property
    def _current(self) -> Deed | None:
        for found in self.query(DeedList):
            if found.highlighted is not None:
                return self._deeds[found.highlighted]
        return None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        if (deed := self._current) is not None:
            self.app.push_screen(DeedScreen(deed))

    def action_copy(self) -> None:
        if (deed := self._current) is not None:
            self.program.copy(deed.command)

    def action_back(self) -> None:
        """Leaves for where the person came from."""
        self.dismiss(None)

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)


def _entry(deed: Deed) -> Content:
    return Content.assemble((line(deed.words, 80), "bold"), "  ", state_of(deed), (f"\n  $ {line(deed.command, 500)}", "$accent"))
