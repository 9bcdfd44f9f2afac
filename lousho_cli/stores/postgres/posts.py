"""What others leave for the owner of a session, and who looks on."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from lousho_cli.core.posts import check_same_post
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.ports.log_store import FOLLOW_MS
from lousho_cli.stores.postgres.hand import NOW_MS, Hand
from lousho_cli.stores.postgres.wire import YES, texts
from lousho_cli.stores.rows import post_in, posts_in

_LONG, _DIGEST = 200, "sha256 "
_OF_LOG = "no = (SELECT no FROM {s}.logs WHERE id = %s)"


def put(hand: Hand, log_id: str, post: Post, channel: str) -> None:
    """Leaves a post, and tells who listens in the same moment. One that is there already stays as it is.

    Raises:
        InputRejectedError: another one with this id is waiting.
    """
    data, key = encode_value(post), _key(post.id)
    while hand.call("put_post", log_id, key, data, channel) != [(YES,)]:
        for (there,) in hand.rows(f"SELECT post FROM {{s}}.posts WHERE {_OF_LOG} AND id = %s", (log_id, key)):
            waiting = post_in(there)
            if waiting is not None:
                check_same_post(waiting, post)
                return
            hand.run(f"DELETE FROM {{s}}.posts WHERE {_OF_LOG} AND id = %s AND post = %s", (log_id, key, there))


def _key(post_id: str) -> str:
    """What stands for an id in the index, which takes no NUL and nothing long."""
    if len(post_id) <= _LONG and "\0" not in post_id and not post_id.startswith(_DIGEST):
        return post_id
    return _DIGEST + sha256(post_id.encode(errors="surrogatepass")).hexdigest()


def waiting(hand: Hand, log_id: str) -> tuple[int, tuple[Post, ...]]:
    """The number of the newest post, 0 for none, and the posts, oldest first. A row that is no post is passed over; ``fsck`` names it."""
    return posts_in([(int(number), data) for number, data in hand.call("inbox_of", log_id)])


def discard(hand: Hand, log_id: str, post_ids: Sequence[str]) -> None:
    """Removes posts; those that are gone already are no error."""
    hand.call("discard", log_id, texts([_key(post_id) for post_id in post_ids]))


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
