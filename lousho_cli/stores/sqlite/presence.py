"""A store object as an owner: a locked file beside the database for as long as it lives, and a row with its lease.

A claim names the row by its token. When the process ends, however it ends, its lock is free, and whoever looks
knows at once that nobody owns what the token was written on; a process id would not say so. A process that
only stands still keeps its lock, so there the lease decides.
"""

from __future__ import annotations

import os
import secrets
import sqlite3

from lousho_cli.errors import StorageError
from lousho_cli.stores.locks import lock_is_free, remove_lock
from lousho_cli.stores.locks import take_lock as _locked
from lousho_cli.stores.machine import boot_id, steady


def now_ms() -> int:
    """The clock of leases: that of the machine all processes with the file open run on."""
    return round(steady() * 1000)


class Presence:
    """This store object among the owners."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.token = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._lock = -1

    def enter(self, connection: sqlite3.Connection) -> None:
        """Shows that we are here, and renews our lease.

        Raises:
            StorageError: the lock can not be made beside the database.
        """
        if self._lock < 0:
            lock = _lock_of(self._path, self.token)
            try:
                self._lock = _locked(lock)
            except OSError as error:
                raise StorageError(f"{lock}: {(error.strerror or str(error)).lower()}") from error
            sweep(connection, self._path)
        connection.execute(
            "INSERT INTO owners (token, pid, boot, renewed_ms) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (token) DO UPDATE SET renewed_ms = excluded.renewed_ms",
            (self.token, os.getpid(), boot_id(), now_ms()),
        )

    @property
    def is_here(self) -> bool:
        return self._lock >= 0

    def leave(self, connection: sqlite3.Connection) -> None:
        """Takes our row away; whatever we still own is free."""
        connection.execute("DELETE FROM owners WHERE token = ?", (self.token,))

    def close(self, *, remove: bool = True) -> None:
        """Lets the lock go."""
        if self._lock >= 0:
            if remove:
                remove_lock(_lock_of(self._path, self.token))
            os.close(self._lock)
            self._lock = -1


def _lock_of(path: str, token: str) -> str:
    return f"{path}-owner-{token}"


def is_gone(path: str, token: str, boot: str) -> bool:
    """Whether an owner is dead for certain: its lock is free, or its machine started anew."""
    try:
        return boot != boot_id() or lock_is_free(_lock_of(path, token))
    except OSError:
        return False  # another user's, who does not let us look: its lease decides


def sweep(connection: sqlite3.Connection, path: str) -> None:
    """Removes what dead owners left."""
    for token, boot in connection.execute("SELECT token, boot FROM owners WHERE boot <> ''").fetchall():
        if is_gone(path, token, boot):
            connection.execute("DELETE FROM owners WHERE token = ?", (token,))
            remove_lock(_lock_of(path, token))
