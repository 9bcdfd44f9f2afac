"""The screen as an SVG file that asks nobody for anything."""

from __future__ import annotations

import re
from typing import Any

from textual.app import App

_FONT = re.compile(r"\s*@font-face \{.*?\n\s*\}", re.DOTALL)


def svg_of(app: App[Any]) -> str:
    """What is on the screen now. The same screen gives the same text; fonts are those of who looks at it."""
    return re.sub(r"terminal-\d+", "terminal", _FONT.sub("", app.export_screenshot(title="lousho")))
