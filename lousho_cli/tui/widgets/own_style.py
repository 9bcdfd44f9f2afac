"""The styles of the parts of a widget, each worked out once: asking Textual for one takes longer than drawing a line."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


class OwnStyles:
    """The styles of a widget's component classes, as they are laid over a line that has its own background.

    Args:
        prefix: what the names of the component classes begin with, such as ``ring--``.
    """

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget = widget
        self._prefix = prefix
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
            found = self._known[name] = self._worked_out(f"{self._prefix}{name}")
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
        whole = self._widget.get_component_rich_style(name)
        set_here = self._widget.get_component_rich_style(name, partial=True)
        return Style(
            color=whole.color if set_here.color is not None else None,
            bgcolor=whole.bgcolor if set_here.bgcolor is not None else None,
            bold=set_here.bold,
            italic=set_here.italic,
            underline=set_here.underline,
        )
