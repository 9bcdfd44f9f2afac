"""What every screen has in common on which something is done: what it will do, the command line that does the same, and who says yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Input, OptionList, Select, Static, TextArea

from lousho_cli.tui.deeds import Act, Deed
from lousho_cli.tui.keys import bindings
from lousho_cli.tui.plain import content, line
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho

ASKS_MODEL = "the model is asked, which may cost money"

Said = Sequence[tuple[str, str]]
"""Lines, each with its style."""


class ActScreen(Screen[None]):
    """Shows what is going to be done and does it once a button is pressed; escape does nothing of it.

    A screen has ``fields`` and ``buttons``, says what they mean in ``explain``, and does it in ``press``.
    """

    BINDINGS = bindings("before it is done")
    DEFAULT_CSS = """
    ActScreen #act { height: 1fr; padding: 0 1; }
    ActScreen #act > Static { height: auto; }
    ActScreen .label { color: $primary; text-style: bold; margin: 1 0 0 0; }
    ActScreen Input { height: 1; border: none; padding: 0 1; background: $panel; }
    ActScreen Input:focus { background: $primary 25%; }
    ActScreen Checkbox { height: 1; border: none; padding: 0; background: $background; margin: 1 0 0 0; }
    ActScreen Checkbox:focus { border: none; background: $primary 25%; }
    ActScreen OptionList { height: auto; max-height: 8; border: round $foreground 30%; padding: 0 1; background: $background; }
    ActScreen OptionList:focus { border: round $primary; }
    ActScreen.-narrow .label, ActScreen.-narrow Checkbox { margin: 0; }
    ActScreen #act-says { height: auto; max-height: 8; padding: 0 1; border-top: solid $foreground 30%; }
    ActScreen #act-twin { height: auto; max-height: 5; padding: 0 1; color: $accent; }
    ActScreen #act-buttons { height: 1; padding: 0 1; margin: 0 0 0 0; }
    ActScreen Button { margin: 0 2 0 0; }
    """

    where = ""
    """What is done here, for the first line."""

    def __init__(self) -> None:
        super().__init__()
        self._commands: tuple[str, ...] = ()

    def fields(self) -> ComposeResult:
        """What can be changed before it is done."""
        raise NotImplementedError

    def buttons(self) -> ComposeResult:
        """What can be done, the first one by ``ctrl+s``."""
        raise NotImplementedError

    def explain(self) -> None:
        """Says what would be done now. Called after every change."""
        raise NotImplementedError

    def press(self, button: str) -> None:
        """Does it. ``button``: the id of the one that was pressed."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield TopLine(self.where)
        with VerticalScroll(id="act", can_focus=False):
            yield from self.fields()
        yield Static(id="act-says", markup=False)
        yield Static(id="act-twin", markup=False)
        with Horizontal(id="act-buttons"):
            yield from self.buttons()
        yield KeyLine()

    def fill_in(self) -> None:
        """Fills the fields in, and goes to the one to begin with; by default to the first button."""

    def on_mount(self) -> None:
        self.query(Button).first().focus()
        self.fill_in()
        self.explain()

    def say(self, lines: Said, *commands: str) -> None:
        """Shows what would be done, and what does the same on a command line."""
        parts = [(line(text, 600) + "\n", style) for text, style in lines if text]
        self.query_one("#act-says", Static).update(Content.assemble(*parts).rstrip())
        self._commands = commands
        self.query_one("#act-twin", Static).update(content("\n".join(f"$ {line(one, 2000)}" for one in commands)))

    def begin(self, deed: Deed, act: Act) -> None:
        """Begins a deed, and shows how it goes in place of this screen."""
        self.program.begin(deed, act)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.press(event.button.id or "")

    def on_input_changed(self) -> None:
        self.explain()

    def on_checkbox_changed(self) -> None:
        self.explain()

    def on_input_submitted(self) -> None:
        self._to_buttons()

    def action_submit(self) -> None:
        """Presses the button that has the focus, else the first one; nothing where that can not be pressed."""
        buttons = list(self.query(Button))
        wanted = next((button for button in buttons if button is self.focused), buttons[0])
        if not wanted.disabled:
            self.press(wanted.id or "")

    def action_copy(self) -> None:
        if self._commands:
            self.program.copy(self._commands[0])

    def action_back(self) -> None:
        """Out of a text that is being written; else away, and nothing is done."""
        if isinstance(self.focused, Input | TextArea | OptionList | Select) and any(not button.disabled for button in self.query(Button)):
            self._to_buttons()
        else:
            self.dismiss(None)

    def _to_buttons(self) -> None:
        for button in self.query(Button):
            if not button.disabled:
                button.focus()
                return

    def may(self, button: str, *, able: bool) -> None:
        """Whether a button can be pressed."""
        self.query_one(f"#{button}", Button).disabled = not able

    @property
    def gone(self) -> bool:
        """Whether the screen was left meanwhile: asked by who has waited for something."""
        return not self.query("#act-says")

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)


def button(id: str, words: str) -> Button:
    """A button of one line."""
    return Button(words, id=id, compact=True)


def label(words: str) -> Static:
    """The name of a field."""
    return Static(words, classes="label", markup=False)
