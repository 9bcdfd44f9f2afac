"""One line in which a person types or pastes words to look for."""

from __future__ import annotations

from textual.events import Paste
from textual.widgets import Input

_LONGEST = 200
"""So many characters are looked for at most. What is pasted by mistake may be a whole file."""


class TypedLine(Input):
    """Holds only what can be seen: of a text that is pasted the first line, without what a terminal would obey, as far as it fits."""

    def __init__(self, placeholder: str, id: str | None = None) -> None:
        super().__init__(placeholder=placeholder, id=id, max_length=_LONGEST)

    def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        seen = "".join(letter for letter in event.text.strip().partition("\n")[0][: 10 * _LONGEST].expandtabs(1) if letter.isprintable())
        start, end = sorted(self.selection)
        self.replace(seen[: _LONGEST - len(self.value) + end - start], start, end)

    def restricted(self) -> None:
        """More than fits is left out, without a bell for each letter."""
