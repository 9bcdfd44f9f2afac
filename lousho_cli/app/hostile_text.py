"""Text of models, tools and other people, made harmless and still readable. Pure.

A terminal obeys control bytes: they move the cursor, set its title, fill its clipboard, or
reorder what is read. So each is shown as the escape a programmer would write for it. Newline
and tab stay.
"""

from __future__ import annotations

import re
from typing import Any

_HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides that reorder text
    "\u2028\u2029"  # line and paragraph breaks that are no newline
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations and tags nobody sees
    "\ud800-\udfff]"  # half characters, which no output can encode
)

UNSEEN = re.compile("[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0]")
"""Characters that take no room or show as nothing, which hide what is there. The joiner of emoji is not among them."""


def visible(text: str) -> str:
    """``text`` with every control character but newline and tab written as its escape, such as ``\\x1b``."""
    return text if text.isprintable() else _HOSTILE.sub(_escape, text)


def one_line(text: str, limit: int | None = None) -> str:
    """``text`` as one harmless line: newlines and tabs become escapes too.

    Args:
        limit: most characters to keep; a longer text ends in an ellipsis. None keeps all.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def json_line(value: Any) -> str:
    """A value as one line of JSON for a person to read and decide on.

    Letters of every script stay; what a terminal obeys or nobody sees is written as JSON's own escape.
    """
    from lousho_cli.domain.plain import json_text

    text = json_text(value)[0]
    return text if text.isascii() and "\x7f" not in text else UNSEEN.sub(json_escape, _HOSTILE.sub(json_escape, text))


def json_escape(match: re.Match[str]) -> str:
    """The character found, as JSON writes it where it may use ASCII alone."""
    code = ord(match[0])
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
