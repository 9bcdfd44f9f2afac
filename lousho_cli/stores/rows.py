"""What a database keeps in a row beside the batches: cached heads and snapshots, each with a checksum, and posts."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec

from lousho_cli.domain.codec import decode_state
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.state import CACHE_SHAPE, State
from lousho_cli.errors import StorageError

_head, _post = msgspec.json.Decoder(Head), msgspec.json.Decoder(Post)


def checksum(data: bytes) -> int:
    """What is kept beside a cached value: it fits no other bytes, nor the same ones of a version with another form of state."""
    return zlib.crc32(data, CACHE_SHAPE)


def head_in(crc: int | None, data: bytes | None) -> Head | None:
    """A head as it was cached; None when it is of no use."""
    if data is None or checksum(data) != crc:
        return None
    try:
        return _head.decode(data)
    except msgspec.DecodeError:
        return None


def state_in(crc: int, data: bytes) -> tuple[State, int] | None:
    """The state of a snapshot, and its size in bytes; None when it is of no use."""
    if checksum(data) != crc:
        return None
    try:
        return decode_state(data), len(data)
    except StorageError:
        return None


def post_in(data: bytes | str) -> Post | None:
    """A post; None where the row holds none."""
    try:
        return _post.decode(data)
    except msgspec.DecodeError:
        return None


def posts_in(rows: Sequence[tuple[int, bytes | str]]) -> tuple[int, tuple[Post, ...]]:
    """The number of the newest post, 0 for none, and the posts of rows that come oldest first. A row that is none is passed over."""
    found = (post_in(data) for _, data in rows)
    return (rows[-1][0] if rows else 0), tuple(post for post in found if post is not None)
