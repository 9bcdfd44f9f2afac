"""Where JSON is edited: it says with each letter whether it can be used, and what it would be."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import TextArea

from lousho_cli.app.editing import Check, Edit, edit_of, unchecked
from lousho_cli.tui.plain import json_text

_LONGEST = 100_000
"""A longer text is not edited here; a command takes it from a file."""
_LINES = (1, 12)
"""The least and the most lines it is high."""


class JsonEditor(TextArea):
    """A JSON value as text.

    Args:
        objects: it must be an object, as arguments are.

    Attributes:
        now: what the text is at the moment.
    """

    DEFAULT_CSS = """
    JsonEditor { height: 3; border: round $foreground 30%; padding: 0 1; background: $background; }
    JsonEditor { border-title-color: $foreground 70%; border-subtitle-color: $warning; }
    JsonEditor:focus { border: round $primary; }
    JsonEditor.-wrong, JsonEditor.-wrong:focus { border: round $error; }
    """

    class Edited(Message):
        """The text is another one. ``edit``: what it is now."""

        def __init__(self, editor: JsonEditor, edit: Edit) -> None:
            self.editor = editor
            self.edit = edit
            super().__init__()

        @property
        def control(self) -> JsonEditor:
            return self.editor

    def __init__(self, *, id: str, title: str, objects: bool = True) -> None:
        super().__init__(id=id, soft_wrap=True, highlight_cursor_line=False, tab_behavior="focus", show_line_numbers=False)
        self.border_title = title
        self.cursor_blink = False  # each blink would be sent over ssh
        self._objects = objects
        self._check: Check = unchecked
        self._first = ""
        self.now = Edit()

    def show(self, value: object) -> None:
        """Begins with a value."""
        self._first = json_text(value)
        self.read_only = len(self._first) > _LONGEST
        self.border_subtitle = "too long to edit here; a command takes it from a file" if self.read_only else ""
        self.text = self._first[:_LONGEST]
        self._fit()
        self._look()

    def check_with(self, check: Check) -> None:
        """Has everything checked by what takes the arguments."""
        self._check = check
        self._look()

    @property
    def changed(self) -> bool:
        """Whether it is no longer what it began with."""
        return not self.read_only and self.text != self._first

    def on_text_area_changed(self) -> None:
        self._fit()
        self._look()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        least, most = _LINES
        room = max(least, min(most, self.screen.size.height // 3)) if self.is_attached else most
        self.styles.height = 2 + max(least, min(room, self.wrapped_document.height))

    def _look(self) -> None:
        self.now = Edit() if self.read_only else edit_of(self.text, self._check, anything=not self._objects)
        self.set_class(bool(self.now.problems), "-wrong")
        self.post_message(self.Edited(self, self.now))
