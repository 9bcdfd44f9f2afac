"""Locked files that tell whether a process of this machine lives. A lock tells it for certain; a process id does not."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress


def take_lock(path: str) -> int:
    """Makes a file and locks it; gives the descriptor that holds the lock for as long as it is open.

    Raises:
        OSError: it can not be made or locked; nothing is left.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        remove_lock(path)
        raise
    return file


def remove_lock(path: str) -> None:
    """Removes the file of a lock, if it is there and ours to remove."""
    with suppress(OSError):
        os.unlink(path)


def lock_is_free(path: str, *, missing: bool = True) -> bool:
    """Whether no living process of this machine holds the file; ``missing`` when it is gone.

    Raises:
        OSError: the disk does not say.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return missing
    try:
        # Shared, so that two who ask at once do not take each other for the owner.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(file)
