"""What others leave for the owner of a session, and who looks on."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.posts import check_same_post
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.ports.log_store import FOLLOW_MS
from lousho_cli.stores.postgres.hand import NOW_MS, Hand

_PUT = """WITH log AS (
        INSERT INTO {s}.logs (id, due_ms) VALUES (%s, 0) ON CONFLICT (id) DO UPDATE SET due_ms = 0 RETURNING no),
    put AS (
        INSERT INTO {s}.posts (no, id, post) SELECT no, %s, %s FROM log ON CONFLICT (no, id) DO NOTHING RETURNING no)
    SELECT pg_notify(%s, %s)::text FROM put"""
_OF_LOG = "no = (SELECT no FROM {s}.logs WHERE id = %s)"
_decoder = msgspec.json.Decoder(Post)


def put(hand: Hand, log_id: str, post: Post, channel: str) -> None:
    """Leaves a post, and tells who listens in the same moment. One that is there already stays as it is.

    Raises:
        InputRejectedError: another one with this id is waiting.
    """
    text = encode_value(post).decode()
    while not hand.rows(_PUT, (log_id, post.id, text, channel, log_id)):
        for (there,) in hand.rows(f"SELECT post FROM {{s}}.posts WHERE {_OF_LOG} AND id = %s", (log_id, post.id)):
            waiting = _read(there)
            if waiting is not None:
                check_same_post(waiting, post)
                return
            hand.run(f"DELETE FROM {{s}}.posts WHERE {_OF_LOG} AND id = %s AND post = %s", (log_id, post.id, there))


def waiting(hand: Hand, log_id: str) -> tuple[int, tuple[Post, ...]]:
    """The number of the newest post, 0 for none, and the posts, oldest first. A row that is no post is passed over; ``fsck`` names it."""
    rows = hand.rows(f"SELECT n, post FROM {{s}}.posts WHERE {_OF_LOG} ORDER BY n", (log_id,))
    found = (_read(text) for _, text in rows)
    return (rows[-1][0] if rows else 0), tuple(post for post in found if post is not None)


def _read(text: str) -> Post | None:
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        return None


def is_post(text: str) -> bool:
    """Whether a row holds a post."""
    return _read(text) is not None


def discard(hand: Hand, log_id: str, post_ids: Sequence[str]) -> None:
    """Removes posts; those that are gone already are no error."""
    hand.run(f"DELETE FROM {{s}}.posts WHERE {_OF_LOG} AND id = ANY(%s)", (log_id, list(post_ids)))


def posted(hand: Hand) -> frozenset[str]:
    """The logs for which something was left."""
    rows = hand.rows("SELECT id FROM {s}.logs WHERE no IN (SELECT no FROM {s}.posts)")
    return frozenset(row[0] for row in rows)


def follow(hand: Hand, log_id: str) -> None:
    """Leaves the time at which somebody looked on."""
    hand.run(f"UPDATE {{s}}.logs SET followed_ms = {NOW_MS} WHERE id = %s AND head > 0", (log_id,))


def followed(hand: Hand, log_id: str) -> bool:
    """Whether somebody looked on in the last seconds."""
    return bool(hand.rows(f"SELECT 1 FROM {{s}}.logs WHERE id = %s AND followed_ms > {NOW_MS} - {FOLLOW_MS}", (log_id,)))
