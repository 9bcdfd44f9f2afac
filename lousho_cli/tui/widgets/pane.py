"""What the three panes have in common."""

from __future__ import annotations

from textual.containers import Vertical


class Pane(Vertical, can_focus=True):
    """A bordered part of the main screen; its border shows whether the keys go to it.

    It says so by a class of its own and not by ``:focus-within``, for which Textual would style everything in it anew.
    """

    def take_focus(self) -> None:
        """Goes to whatever in it takes the keys."""
        raise NotImplementedError

    def on_descendant_focus(self) -> None:
        self._light()

    def on_descendant_blur(self) -> None:
        self._light()

    def _light(self) -> None:
        lit = self.has_focus_within
        if lit != self.has_class("-lit"):
            self.set_class(lit, "-lit", update=False)
            self.app.stylesheet.apply(self)
            self.refresh()
