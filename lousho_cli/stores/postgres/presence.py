"""A store object as an owner: a row with its lease, and a locked file for whoever looks from the same machine.

A claim names the row by its token. Elsewhere only the lease counts, as a connection that ended proves nothing through a pooler. Who
sees the very same folder, by device, number and boot, sees the file too: while its lock is held the process lives, and when it is
free, that is over for certain. A file that is missing proves nothing.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from contextlib import suppress
from hashlib import sha256

from lousho_cli.stores.machine import boot_id, machine_id
from lousho_cli.stores.postgres.hand import NOW_MS, Hand

_ENTER = f"""INSERT INTO {{s}}.owners (token, pid, place, renewed_ms) VALUES (%s, %s, %s, {NOW_MS})
    ON CONFLICT (token) DO UPDATE SET renewed_ms = {NOW_MS}"""


class Presence:
    """This store object among the owners."""

    def __init__(self) -> None:
        self.token = f"{os.getpid()}-{secrets.token_hex(8)}"
        self.entered = False
        self._folder = ""
        self._lock = -1
        self.place = ""

    def enter(self, hand: Hand) -> None:
        """Shows that we are here, and renews our lease."""
        if not self.entered:
            self._begin()
            self._sweep(hand)
        if self._lock >= 0:
            with suppress(OSError):
                os.utime(self._lock)  # what tidies up temporary files goes by its age
        hand.run(_ENTER, (self.token, os.getpid(), self.place))
        self.entered = True

    def _begin(self) -> None:
        if self._lock >= 0:
            return
        folder, place = _folder()
        if not place:
            return
        path = _lock_of(folder, self.token)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return  # only the lease tells of us then
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return
        self._folder, self._lock, self.place = folder, file, place

    def _sweep(self, hand: Hand) -> None:
        """Removes what dead owners of this machine left, and rows of owners that nobody has renewed for a day."""
        for token, place in hand.rows("SELECT token, place FROM {s}.owners WHERE place = %s", (self.place,)) if self.place else ():
            if token != self.token and self.is_gone(token, place):
                hand.run("DELETE FROM {s}.owners WHERE token = %s", (token,))
                with suppress(OSError):
                    os.unlink(_lock_of(self._folder, token))
        hand.run(f"DELETE FROM {{s}}.owners WHERE renewed_ms < {NOW_MS} - 86400000")

    def is_gone(self, token: str, place: str) -> bool:
        """Whether an owner is dead for certain."""
        folder, here = _folder()
        return bool(here) and place == here and _is_free(_lock_of(folder, token))

    def leave(self, hand: Hand) -> None:
        """Takes our row away; whatever we still own is free."""
        hand.run("DELETE FROM {s}.owners WHERE token = %s", (self.token,))

    def close(self, *, remove: bool = True) -> None:
        """Lets the lock go."""
        if self._lock >= 0:
            if remove:
                with suppress(OSError):
                    os.unlink(_lock_of(self._folder, self.token))
            os.close(self._lock)
            self._lock = -1


def _folder() -> tuple[str, str]:
    """The folder of the locks, and what tells it from that of another machine, container or boot; '' where there is none."""
    import tempfile

    folder = f"{tempfile.gettempdir()}/lousho-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        info = os.lstat(folder)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            return folder, ""  # somebody else made it, and could play us
        known = f"{machine_id()}|{boot_id()}|{info.st_dev}:{info.st_ino}"
        return folder, sha256(known.encode()).hexdigest()[:32]  # what names a machine is nobody's business there
    except OSError:
        return folder, ""


def _lock_of(folder: str, token: str) -> str:
    return f"{folder}/owner-{token}"


def _is_free(path: str) -> bool:
    """Whether a file is there and no living process holds it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True
