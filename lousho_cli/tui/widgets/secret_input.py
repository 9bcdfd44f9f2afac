"""Where a secret is typed: neither its letters nor their number can be seen, on the screen or in a picture of it."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Input


class SecretInput(Input):
    """One line that shows only whether there is something in it."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, password=True, placeholder="nothing typed yet")

    @property
    def _value(self) -> Text:
        return Text("typed, not shown", no_wrap=True, overflow="ignore", end="") if self.value else Text("")

    def action_copy(self) -> None:
        """A secret is not copied."""

    def action_cut(self) -> None:
        """Nor cut."""
