"""Half characters: servers that escape each token by itself send an emoji as two lone surrogates.

Looking for them in a long text costs as much as reading it did. So where JSON is read, the halves inside a text are
mended, which only the slow way of reading it can find; from there on they can stand at the ends of a piece alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def whole(text: str) -> str:
    """The text with pairs joined and what is still alone replaced by U+FFFD, so that it can be written as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mended(value: Any) -> Any:
    """A JSON value with whole characters only."""
    return _changed(value, whole)


def halves_at_ends(value: Any) -> Any:
    """A JSON value in which a half character stands at most at the ends of a text: its other half may be yet to come."""
    return _changed(value, inner_whole)


def inner_whole(text: str) -> str:
    """The text with whole characters only, but for its ends."""
    first = text[:1] if _is_second(text) else ""
    rest = text[len(first) :]
    last = rest[-1:] if _is_first(rest) else ""
    return first + whole(rest[: len(rest) - len(last)]) + last


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {whole(str(key)): _changed(item, change) for key, item in value.items()}
    return [_changed(item, change) for item in value] if isinstance(value, list | tuple) else value


def _is_first(text: str) -> bool:
    """Whether a text ends in the first half of a character."""
    return "\ud800" <= text[-1:] <= "\udbff"


def _is_second(text: str) -> bool:
    """Whether a text begins with the second half of a character."""
    return "\udc00" <= text[:1] <= "\udfff"


class Joiner:
    """Pieces of text in, pieces of whole characters out: a half one is held back until its other half comes, or dropped.

    In a piece there are halves at its ends only, see ``halves_at_ends``.
    """

    def __init__(self) -> None:
        self._half = ""

    def push(self, piece: str) -> str:
        if not self._half and piece.isascii():
            return piece
        begun, self._half = self._half, ""
        piece = begun + piece
        if _is_first(piece):
            piece, self._half = piece[:-1], piece[-1]
        return whole(piece) if begun or _is_second(piece) else piece
