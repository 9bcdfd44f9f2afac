"""Lists as a server takes them in their binary form, in which nothing has to be quoted: made with far less work than by the driver."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from struct import pack

TEXT, BINARY = 0, 1
"""The forms in which a value is sent."""

YES, NO = b"t", b"f"
"""Both as text."""

_BIGINT, _TEXT = 20, 25
"""The numbers of their types."""


def bigints(values: Sequence[int]) -> bytes:
    """A ``bigint[]``."""
    return _head(_BIGINT, len(values)) + pack("!" + "iq" * len(values), *chain.from_iterable(zip(repeat(8), values, strict=False)))


def texts(values: Sequence[str]) -> bytes:
    """A ``text[]``."""
    parts = [value.encode() for value in values]
    return b"".join((_head(_TEXT, len(parts)), *chain.from_iterable((pack("!i", len(part)), part) for part in parts)))


def _head(kind: int, length: int) -> bytes:
    return pack("!iiIii", 1, 0, kind, length, 1) if length else pack("!iiI", 0, 0, kind)
