"""When two posts of one id are the same post."""

from __future__ import annotations

from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.errors import InputRejectedError


def check_same_post(waiting: Post, new: Post) -> None:
    """Lets a post pass that says what the waiting one says; when it was sent does not count.

    Raises:
        InputRejectedError: it says something else.
    """
    if (waiting.kind, waiting.by, encode_value(waiting.body)) != (new.kind, new.by, encode_value(new.body)):
        raise InputRejectedError(f"something else with the id {new.id} is waiting already", hint="Use a new id for other content.")
