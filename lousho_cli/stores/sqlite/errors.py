"""What the driver said, as one of our errors."""

from __future__ import annotations

import sqlite3

from lousho_cli.errors import DamagedLogError, NotAStoreError, StorageError

BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT)
_SAID = {
    sqlite3.SQLITE_FULL: ("there is no room on the disk", "Make room on the disk; what was saved is still there."),
    sqlite3.SQLITE_READONLY: ("it can not be written", "Check the rights of the file and its folder, or name another store with --store."),
    sqlite3.SQLITE_PERM: ("no permission", "Check the rights of the file and its folder, or name another store with --store."),
    sqlite3.SQLITE_CANTOPEN: ("it can not be opened", "Check the rights of the file and its folder, or name another store with --store."),
    sqlite3.SQLITE_BUSY: ("another process keeps it locked", "Try again; if it stays so, see which process has the file open."),
    sqlite3.SQLITE_LOCKED: ("another process keeps it locked", "Try again; if it stays so, see which process has the file open."),
    sqlite3.SQLITE_IOERR: ("the disk can not be read or written", "Check the disk; what was saved is still there."),
    sqlite3.SQLITE_CONSTRAINT: ("something stands there that its owner did not write", "See what it is with: lousho fsck"),
    sqlite3.SQLITE_TOOBIG: ("a record is larger than a database takes", ""),
}


def code_of(error: sqlite3.Error) -> int:
    """The primary result code of an error, 0 for one that has none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def storage_error(path: str, error: sqlite3.Error) -> StorageError:
    """What went wrong with the database at ``path``."""
    code = code_of(error)
    if code == sqlite3.SQLITE_NOTADB:
        failed: StorageError = NotAStoreError(f"{path} is no database", hint="Name another store with --store.")
    elif code in _DAMAGED:
        failed = damaged(path, str(error))
    else:
        what, hint = _SAID.get(code, (str(error), ""))
        failed = StorageError(f"{path}: {what}", hint=hint)
    failed.__cause__ = error
    return failed


def damaged(path: str, detail: str) -> DamagedLogError:
    """The error for a database whose pages do not fit together."""
    return DamagedLogError(
        f"the database {path} is damaged: {detail}",
        hint=f"Put a copy of it back, or save what can be read with: sqlite3 {path} .recover",
    )
