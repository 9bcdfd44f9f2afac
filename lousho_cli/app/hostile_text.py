"""Text of models, tools and other people, made harmless and still readable. Pure.

A terminal obeys control bytes: they move the cursor, set its title, fill its clipboard, or
reorder what is read. So each is shown as the escape a programmer would write for it. Newline
and tab stay.
"""

from __future__ import annotations

import re

_HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides that reorder text
    "\u2028\u2029"  # line and paragraph breaks that are no newline
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations and tags nobody sees
    "\ud800-\udfff]"  # half characters, which no output can encode
)


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


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
