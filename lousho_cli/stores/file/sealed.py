"""Small cache files that are right or read as none: one value behind its checksum, replaced whole."""

from __future__ import annotations

import os
import zlib
from typing import Any, TypeVar

import msgspec

from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.state import CACHE_SHAPE
from lousho_cli.stores.file.layout import write_new

T = TypeVar("T")

_OPEN = b'{"crc":"'
_BODY_AT = len(_OPEN) + 10


def seal(value: msgspec.Struct) -> bytes:
    """A value as JSON whose first key is the checksum of the rest."""
    body = encode_value(value)[1:]
    return b'%b%08x",%b\n' % (_OPEN, zlib.crc32(body, CACHE_SHAPE), body)


def unseal(data: bytes, decoder: msgspec.json.Decoder[T]) -> T | None:
    """The value, or None when it is not whole or of another shape."""
    if data[:_BODY_AT] != b'%b%08x",' % (_OPEN, zlib.crc32(memoryview(data)[_BODY_AT:-1], CACHE_SHAPE)):
        return None
    try:
        return decoder.decode(data)  # the checksum is one more field, which it passes over; nothing is copied
    except msgspec.DecodeError:
        return None


def replace_sealed(path: str, value: Any, epoch: int) -> int:
    """Replaces the file at ``path``; gives its size. A crash leaves the old one.

    Raises:
        OSError: it could not be written.
    """
    data = seal(value)
    aside = f"{path}.{epoch}.tmp"
    write_new(aside, data)
    os.replace(aside, path)
    return len(data)
