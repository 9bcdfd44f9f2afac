"""A box that is ticked or not, which a sign says and not a colour alone."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Checkbox


class Tick(Checkbox):
    """``[x]`` or ``[ ]`` in front of its words."""

    def __init__(self, words: str, *, id: str, value: bool = False) -> None:
        super().__init__(Content(words), value, id=id)

    @property
    def _button(self) -> Content:
        return Content("[x]" if self.value else "[ ]")
