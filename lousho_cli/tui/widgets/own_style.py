"""The styles of the parts of a widget that draws its own lines, each worked out once.

They are no component classes of Textual's: it would work out each of those anew whenever the focus goes elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.style import Style as Mixed
from textual.widget import Widget


class OwnStyles:
    """The styles of a widget's parts, as they are laid over a line that has its own background.

    Args:
        parts: each by its name, as Textual says it, such as ``bold $primary on $panel``.
    """

    def __init__(self, widget: Widget, parts: Mapping[str, str]) -> None:
        self._widget = widget
        self._parts = parts
        self._known: dict[str, Style] = {}
        self._base = Style()
        self._theme = ""
        self._stale = True

    @property
    def base(self) -> Style:
        """The style of the widget itself."""
        if self._stale:
            self._look_again()
        return self._base

    def of(self, name: str) -> Style:
        """The colour of a part as it comes out on the widget, with a background only where the part sets one."""
        if self._stale:
            self._look_again()
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._worked_out(name)
        return found

    def forget(self) -> None:
        """Something about the widget's style has changed; often it is only that the focus went elsewhere."""
        self._stale = True

    def _look_again(self) -> None:
        base, theme = self._widget.rich_style, self._widget.app.theme
        if base != self._base or theme != self._theme:
            self._known, self._base, self._theme = {}, base, theme
        self._stale = False

    def _worked_out(self, name: str) -> Style:
        own = Mixed.parse(self._parts[name])
        whole = (self._widget.visual_style + own).rich_style
        return Style(
            color=whole.color if own.foreground is not None else None,
            bgcolor=whole.bgcolor if own.background is not None else None,
            bold=own.bold,
            italic=own.italic,
            underline=own.underline,
        )
