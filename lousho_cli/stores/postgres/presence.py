"""A store object as an owner: a row with its lease, and a locked file for whoever looks from the same machine.

A claim names the row by its token. Elsewhere only the lease counts, as a connection that ended proves nothing through a pooler. Who
sees the very same folder, by device, number and boot, sees the file too: while its lock is held the process lives, and when it is
free, that is over for certain. A file that is missing proves nothing.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from hashlib import sha256

from lousho_cli.stores.locks import lock_is_free, remove_lock, take_lock
from lousho_cli.stores.machine import boot_id, machine_id
from lousho_cli.stores.postgres.hand import NOW_MS, Hand
from lousho_cli.stores.postgres.schema import VERSION_THERE, require_known

_ENTER = f"""INSERT INTO {{s}}.owners (token, pid, place, renewed_ms) VALUES (%s, %s, %s, {NOW_MS})
    ON CONFLICT (token) DO UPDATE SET renewed_ms = {NOW_MS} RETURNING {VERSION_THERE}"""

# While a log is held in its name an owner's row stays, as one whose lease is long over: by it the work is found.
_HOLDS = "EXISTS (SELECT 1 FROM {s}.logs WHERE logs.owner = owners.token)"
_LEAVE = f"""WITH holds AS (UPDATE {{s}}.owners SET renewed_ms = 0 WHERE token = %s AND {_HOLDS} RETURNING token)
    DELETE FROM {{s}}.owners WHERE token = %s AND NOT EXISTS (SELECT 1 FROM holds)"""


class Presence:
    """This store object among the owners."""

    def __init__(self) -> None:
        self.token = f"{os.getpid()}-{secrets.token_hex(8)}"
        self.entered = False
        self._folder = ""
        self._lock = -1
        self.place = ""

    def enter(self, hand: Hand) -> None:
        """Shows that we are here, and renews our lease.

        Raises:
            LogVersionError: a newer version made the tables into what this one does not know, since they were last looked at.
        """
        self.prepare(hand)
        self.is_entered(hand, *self.write(hand))

    def write(self, hand: Hand) -> tuple[int, int]:
        """Writes our row, behind whoever takes a log in our name now; gives what ``VERSION_THERE`` says."""
        ((version, least),) = hand.rows(_ENTER, (self.token, os.getpid(), self.place))
        return version, least

    def prepare(self, hand: Hand) -> None:
        """What comes before our row is written: our lock, and the first time those of the dead are removed."""
        if not self.entered:
            self._begin()
            self._sweep(hand)
        if self._lock >= 0:
            with suppress(OSError):
                os.utime(self._lock)  # what tidies up temporary files goes by its age

    def is_entered(self, hand: Hand, version: int, least: int) -> None:
        """Notes that our row was written, while the tables were as ``VERSION_THERE`` said. Raises like ``enter``."""
        self.entered = True
        require_known(hand, version, least)

    def _begin(self) -> None:
        if self._lock >= 0:
            return
        folder, place = _folder()
        if not place:
            return
        with suppress(OSError):  # only the lease tells of us then
            self._lock = take_lock(_lock_of(folder, self.token))
            self._folder, self.place = folder, place

    def _sweep(self, hand: Hand) -> None:
        """Removes what dead owners of this machine left, and rows of owners that nobody has renewed for a day."""
        for token, place in hand.rows("SELECT token, place FROM {s}.owners WHERE place = %s", (self.place,)) if self.place else ():
            if token != self.token and self.is_gone(token, place):
                hand.run(_LEAVE, (token,) * 2)
                remove_lock(_lock_of(self._folder, token))
        hand.run(f"DELETE FROM {{s}}.owners WHERE renewed_ms < {NOW_MS} - 86400000 AND NOT {_HOLDS}")

    def gone(self, hand: Hand) -> list[str]:
        """The owners that are dead for certain, as far as can be seen from here."""
        rows = hand.rows("SELECT token, place FROM {s}.owners WHERE place = %s", (_folder()[1],))
        return [token for token, place in rows if self.is_gone(token, place)]

    def is_gone(self, token: str, place: str) -> bool:
        """Whether an owner is dead for certain."""
        folder, here = _folder()
        try:
            return bool(here) and place == here and lock_is_free(_lock_of(folder, token), missing=False)
        except OSError:
            return False  # the disk does not say: its lease decides

    def leave(self, hand: Hand) -> None:
        """Takes our row away; whatever we still own is free."""
        hand.run(_LEAVE, (self.token,) * 2)

    def close(self, *, remove: bool = True) -> None:
        """Lets the lock go."""
        if self._lock >= 0:
            if remove:
                remove_lock(_lock_of(self._folder, self.token))
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
