"""Opens a database file: makes it where that is asked for, brings it up to date, refuses what is no store of ours.

Ten processes may do so at once with a file that is not there: each step runs in one of them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterable

from lousho_cli.errors import LogVersionError, NotAStoreError, StorageError
from lousho_cli.stores.sqlite.errors import BUSY, code_of, damaged, storage_error
from lousho_cli.stores.sqlite.schema import APPLICATION_ID, VERSION, migrate

BUSY_S = 10.0
"""How long who finds the database locked keeps trying."""

PAGE_BYTES = 8192
"""A page takes several steps of a usual run, so little of it stays empty."""

_LOG_PAGES = 200
"""The write-ahead log is written back into the file after so many. It is then written over from its beginning, and a file
that does not grow is synced in less time: measured, a step of one session takes a quarter less than with the driver's 1,000."""

_CROWD_LOG_PAGES = 2000
"""The same while many sessions are written at once. A commit of sixty-four brings some twenty pages: after two hundred, each
tenth would wait for the two further syncs of writing back."""

LOOKED_THROUGH_BYTES = 4_000_000
"""A file up to this size is looked through when it is opened, a few milliseconds: so damage is told before anybody builds
on the rest. A larger one is told to be damaged by whoever comes to the place, and by ``fsck``."""

Adopt = Callable[[sqlite3.Connection], Callable[[], Iterable[str]]]
"""Reads what a file of the original product holds, and gives what writes it into our tables, once they are made."""


def open_file(path: str, *, create: bool, adopt: Adopt) -> sqlite3.Connection | None:
    """A connection to the store at ``path``, its schema up to date; None where there is none and none is to be made.

    Args:
        create: make it where it is missing.
        adopt: takes over a file of the original product, within the transaction that makes our tables.

    Raises:
        NotAStoreError: it is something else, or another user's.
        LogVersionError: a newer version made it.
        StorageError: it can not be opened, or is damaged.
    """
    there = _look(path)
    if not there and not create:
        return None
    try:
        if not there:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        connection = _connect(path, create=create, new=not there)
    except OSError as error:
        raise StorageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except sqlite3.Error as error:
        raise storage_error(path, error) from error
    try:
        if _prepare(connection, path, create=create, adopt=adopt):
            return connection
    except sqlite3.Error as error:
        connection.close()
        raise storage_error(path, error) from error
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def require_sound(connection: sqlite3.Connection, path: str) -> None:
    """Looks through a small file.

    Raises:
        DamagedLogError: its pages do not fit together.
    """
    try:
        if os.stat(path).st_size > LOOKED_THROUGH_BYTES:
            return
        said = connection.execute("PRAGMA quick_check(1)").fetchall()
    except OSError:
        return  # it was removed just now
    except sqlite3.Error as error:
        raise storage_error(path, error) from error
    if said != [("ok",)]:
        raise damaged(path, str(said[0][0]).splitlines()[-1])


def _look(path: str) -> bool:
    """Whether there is a file; refuses what can be none of ours."""
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return False
    except NotADirectoryError as error:
        raise NotAStoreError(f"{path} lies below a file, so it is no store") from error
    except OSError as error:
        raise StorageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if not stat.S_ISREG(info.st_mode):
        raise NotAStoreError(f"{path} is no file, so it is no database", hint="Name a file behind sqlite:, or a folder without it.")
    if info.st_uid != os.geteuid():
        raise NotAStoreError(f"{path} belongs to another user (id {info.st_uid})", hint="Name a store of your own with --store.")
    return True


def _connect(path: str, *, create: bool, new: bool) -> sqlite3.Connection:
    connection = _driver(path, "mode=rwc" if create else "mode=rw")
    try:
        if new:
            connection.execute("PRAGMA user_version")  # the driver makes the file only when it is used
            os.chmod(path, 0o600)
            _sync_folder(path)
        _set_up(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        if create or code_of(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or _holds_more(path):
            raise
        # In a folder that can not be written the database is read as it lies there; its log is empty.
        return _driver(path, "mode=ro&immutable=1")
    except BaseException:
        connection.close()
        raise
    return connection


def _driver(path: str, how: str) -> sqlite3.Connection:
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file:{escaped}?{how}", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=64
    )


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    size_log(connection, crowd=False)
    if sys.platform == "darwin":
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA checkpoint_fullfsync = 1")


def size_log(connection: sqlite3.Connection, *, crowd: bool) -> None:
    """Says how long the write-ahead log gets before it is written back: for one session, or for a crowd of them."""
    pages = _CROWD_LOG_PAGES if crowd else _LOG_PAGES
    connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
    connection.execute(f"PRAGMA journal_size_limit = {pages * PAGE_BYTES}")


def _holds_more(path: str) -> bool:
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False


def _sync_folder(path: str) -> None:
    file = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# Bringing it up to date


def _prepare(connection: sqlite3.Connection, path: str, *, create: bool, adopt: Adopt) -> bool:
    """Whether the file is a store, which it may have become by this call."""
    version = _version_at_once(connection, path)
    if version == VERSION:
        return True
    if version == 0 and not create and _is_empty(connection):
        return False
    _use_write_ahead_log(connection)
    left: Iterable[str] = ()
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)
        if version < VERSION:
            original = version == 0 and not _is_empty(connection)
            take_over = adopt(connection) if original else tuple
            migrate(connection, version)
            left = take_over()
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    for said in left:
        _warn(f"not taken over from {path}, where it stays: {said}")
    return True


def _warn(text: str) -> None:
    import logging

    logging.getLogger("lousho").warning(text)


def _version_at_once(connection: sqlite3.Connection, path: str) -> int:
    """The version as the file is at one moment: another process may be making it meanwhile."""
    connection.execute("BEGIN")
    try:
        return _version(connection, path)
    finally:
        connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: str) -> int:
    """How many migrations a file has behind it: 0 for an empty one, or one of the original product."""
    ((ours,),) = connection.execute("PRAGMA application_id").fetchall()
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    if ours == APPLICATION_ID:
        if version > VERSION:
            raise LogVersionError(
                f"{path} was made by a newer version: its schema is {version}, this version knows {VERSION}",
                hint="Update lousho to use it.",
            )
        return int(version)
    if not _is_empty(connection):
        from lousho_cli.stores.originals import is_original_database

        if ours or not is_original_database(connection):
            raise NotAStoreError(f"{path} is a database of something else", hint="Name another file behind sqlite:.")
    return 0


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Turns it on. While somebody else does, the driver says at once that it is locked, so it is asked again."""
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    ends = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if code_of(error) not in BUSY or time.monotonic() > ends:
                raise
            time.sleep(0.005)
        else:
            return
