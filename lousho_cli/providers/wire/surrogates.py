"""Half characters: servers that escape each token by itself send an emoji as two lone surrogates."""

from __future__ import annotations


def whole(text: str) -> str:
    """The text with pairs joined and what is still alone replaced by U+FFFD, so that it can be written as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Joiner:
    """Pieces of text in, pieces of whole characters out: a half one is held back until its other half comes, or dropped."""

    def __init__(self) -> None:
        self._half = ""

    def push(self, piece: str) -> str:
        piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return whole(piece)
