"""Whether a stream gets colour, and the few styles there are. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

ColourMode = Literal["auto", "always", "never"]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def wants_colour(mode: ColourMode, environ: Mapping[str, str], *, terminal: bool) -> bool:
    """The rules: the flag decides; else NO_COLOR, then FORCE_COLOR, then TERM=dumb, then whether it is a terminal."""
    if mode != "auto":
        return mode == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return terminal and environ.get("TERM") != "dumb"


def styled(text: str, style: str, *, colour: bool) -> str:
    """``text`` in one of bold, dim, red, green, yellow, cyan, or as it is."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour and style else text
