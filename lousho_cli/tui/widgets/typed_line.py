"""One line in which a person types or pastes something."""

from __future__ import annotations

from textual.events import Paste
from textual.widgets import Input

LOOKED_FOR = 200
"""So many characters are looked for at most. What is pasted by mistake may be a whole file."""

SAID = 10_000
"""So many characters are said to an agent in one line at most."""


class TypedLine(Input):
    """Holds only what can be seen: of a text that is pasted the first line, without what a terminal would obey, as far as it fits."""

    def __init__(self, placeholder: str = "", id: str | None = None, longest: int = SAID) -> None:
        super().__init__(placeholder=placeholder, id=id, max_length=longest)
        self._longest = longest

    def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        first = event.text.strip().partition("\n")[0][: 10 * self._longest].expandtabs(1)
        seen = "".join(letter for letter in first if letter.isprintable())
        start, end = sorted(self.selection)
        self.replace(seen[: self._longest - len(self.value) + end - start], start, end)

    def restricted(self) -> None:
        """More than fits is left out, without a bell for each letter."""
