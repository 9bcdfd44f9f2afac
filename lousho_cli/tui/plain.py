"""Text of models, tools and other people, as Textual may show it: never read as markup, nothing in it obeyed.

Everything a stranger wrote goes through here on its way to the screen.
"""

from __future__ import annotations

import json
from typing import Any

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from lousho_cli.app.hostile_text import UNSEEN, one_line, visible


def harmless(text: str) -> str:
    """``text`` with control characters and those nobody sees written as escapes; newlines stay, tabs are four blanks."""
    if text.isascii() and text.isprintable():
        return text
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text)).replace("\t", "    ")


def content(text: str, style: str = "") -> Content:
    """``text`` as content without any markup, in one style."""
    return Content.styled(harmless(text), style) if style else Content(harmless(text))


def line(text: str, limit: int = 1000) -> str:
    """``text`` as one harmless line of at most about ``limit`` characters."""
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", one_line(text, limit))


def cell(text: str, width: int, *, right: bool = False) -> str:
    """``text`` as one harmless line of exactly ``width`` cells, cut with an ellipsis or filled with blanks.

    Args:
        right: blanks go before it.
    """
    if width <= 0:
        return ""
    said = line(text, width + 1)
    length = cell_len(said)
    if length > width:
        return set_cell_size(said, width - 1) + "…"
    blanks = " " * (width - length)
    return blanks + said if right else said + blanks


def json_text(value: Any) -> str:
    """A JSON value as text to be edited, in which nothing hides: whatever nobody sees is written as JSON's own escape."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return "".join(letter if letter == "\n" or (letter.isprintable() and not UNSEEN.match(letter)) else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1]
