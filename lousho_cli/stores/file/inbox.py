"""``inbox/``: what others leave for the owner of a session, one file each, whole or not there."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Sequence

import msgspec

from lousho_cli.core.posts import check_same_post
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.ports.log_store import FOLLOW_MS
from lousho_cli.stores.file.layout import INBOX, make_folder, read_file, sync_folder, write_new

FOLLOW = ".follow"
_PLAIN = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,99}", re.ASCII)
_decoder = msgspec.json.Decoder(Post)


def file_of(post_id: str) -> str:
    """The file name of a post: its id, or a digest of it where the id is no plain name."""
    if _PLAIN.fullmatch(post_id):
        return f"{post_id}.json"
    return f"^{hashlib.sha256(post_id.encode('utf-8', 'surrogatepass')).hexdigest()}.json"


def put(folder: str, post: Post, there_now: Callable[[], None] = lambda: None) -> None:
    """Leaves a post, durable on return. One that is there already stays as it is.

    ``there_now`` is called as soon as it can be seen: who takes it makes it durable too.

    Raises:
        InputRejectedError: another one with this id is waiting.
        OSError: it could not be written.
    """
    inbox = f"{folder}/{INBOX}"
    make_folder(inbox)
    aside = f"{inbox}/.{secrets.token_hex(8)}.tmp"
    target = f"{inbox}/{file_of(post.id)}"
    write_new(aside, encode_value(post), sync=True)
    try:
        # The order of posts is that of these times; the kernel's own are too coarse for it.
        os.utime(aside, ns=(time.time_ns(), time.time_ns()))
        os.link(aside, target)
        there_now()
    except FileExistsError:
        there = _read(target)
        if there is not None:
            check_same_post(there, post)
    finally:
        os.unlink(aside)
    for changed in (inbox, folder, os.path.dirname(folder)):
        sync_folder(changed)


def waiting(folder: str) -> tuple[Post, ...]:
    """The posts, oldest first. A file that is no post is passed over; ``fsck`` names it.

    Raises:
        OSError: the folder can not be read.
    """
    inbox = f"{folder}/{INBOX}"
    found = []
    for name in names(inbox):
        path = f"{inbox}/{name}"
        post = _read(path)
        if post is not None:
            found.append((_mtime(path), name, post))
    return tuple(post for _, _, post in sorted(found, key=lambda entry: entry[:2]))


def names(inbox: str) -> list[str]:
    """The file names of an inbox, without what is still being written."""
    try:
        return [name for name in os.listdir(inbox) if not name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_used(folder: str) -> bool:
    """Whether something is there, or it can not be said."""
    inbox = f"{folder}/{INBOX}"
    if not os.access(inbox, os.F_OK):
        return False  # as mostly: that costs a third of asking for its names
    try:
        return bool(names(inbox))
    except OSError:
        return True


def is_post(path: str) -> bool:
    """Whether a file holds a post."""
    return _read(path) is not None


def _read(path: str) -> Post | None:
    try:
        data = read_file(path)
        return _decoder.decode(data) if data is not None else None
    except (msgspec.DecodeError, IsADirectoryError):
        return None


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def discard(folder: str, post_ids: Sequence[str]) -> None:
    """Removes posts; those that are gone already are no error.

    Raises:
        OSError: they can not be removed.
    """
    for post_id in post_ids:
        try:
            os.unlink(f"{folder}/{INBOX}/{file_of(post_id)}")
        except (FileNotFoundError, NotADirectoryError):
            continue


def touch_follow(folder: str) -> None:
    """Leaves the time at which somebody looked on. Where nothing can be written nothing is left: looking on needs no more than to read."""
    inbox = f"{folder}/{INBOX}"
    try:
        if not os.path.isdir(folder):
            return
        make_folder(inbox)
        file = os.open(f"{inbox}/{FOLLOW}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:  # not ours to write, a disk that is full or only to be read, or removed just now
        return
    try:
        os.utime(file)
    except OSError:
        return
    finally:
        os.close(file)


def followed(folder: str) -> bool:
    """Whether somebody looked on in the last seconds."""
    try:
        return time.time() - os.stat(f"{folder}/{INBOX}/{FOLLOW}").st_mtime < FOLLOW_MS / 1000
    except OSError:
        return False


def changed_at(folder: str) -> int:
    """When something last came or went; 0 without an inbox."""
    try:
        return os.stat(f"{folder}/{INBOX}").st_mtime_ns
    except OSError:
        return 0
