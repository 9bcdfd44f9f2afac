"""Whether a living process of this machine holds a file. A lock tells it for certain; a process id does not."""

from __future__ import annotations

import fcntl
import os


def lock_is_free(path: str) -> bool:
    """Whether no living process of this machine holds the file; so too when it is gone."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        # Shared, so that two who ask at once do not take each other for the owner.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(file)
