"""JSON as it comes: with a byte order mark, with numbers that are none, with half characters; or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lousho_cli.domain.plain import plain

_MARK = b"\xef\xbb\xbf"
_decode = msgspec.json.Decoder().decode


def numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number from 1."""
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(_MARK)
        if line and not line.isspace():
            yield number, line


def parsed(text: bytes) -> Any:
    """The JSON of a text, as data that can be stored; bytes that are no UTF-8 become U+FFFD.

    Raises:
        ValueError: it is none; says what is wrong.
    """
    text = text.removeprefix(_MARK)
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass  # what follows reads more than JSON allows, and says better what is wrong
    try:
        return plain(json.loads(text.decode("utf-8", "replace")))[0]
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
