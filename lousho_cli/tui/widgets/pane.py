"""What the three panes have in common."""

from __future__ import annotations

from textual.containers import Vertical


class Pane(Vertical, can_focus=True):
    """A bordered part of the main screen."""

    def take_focus(self) -> None:
        """Goes to whatever in it takes the keys."""
        raise NotImplementedError
