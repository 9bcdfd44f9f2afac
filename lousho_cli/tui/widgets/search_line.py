"""Where the words of a search are typed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from lousho_cli.tui.widgets.typed_line import LOOKED_FOR, TypedLine


class SearchLine(TypedLine):
    """One line, seen while it is used. It lies over the last line of the text, which so need not be laid out anew."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "end_search", "end the search", show=False)]
    DEFAULT_CSS = """
    SearchLine { display: none; dock: bottom; layer: over; height: 1; border: none; padding: 0; background: $panel; }
    SearchLine.-open { display: block; }
    """

    class Ended(Message):
        """The person does not want to search any more."""

    def __init__(self) -> None:
        super().__init__("search in all of this tab", longest=LOOKED_FOR)

    def open(self) -> None:
        """Is seen, and takes what is typed."""
        self.add_class("-open")
        self.focus()
        self.action_select_all()

    def close(self) -> None:
        """Is seen no more."""
        self.remove_class("-open")

    def action_end_search(self) -> None:
        self.post_message(self.Ended())
