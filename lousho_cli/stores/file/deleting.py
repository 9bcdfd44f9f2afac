"""Deletes a session: its folder goes to ``.trash/`` in one step, and is emptied there."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from pathlib import Path

from lousho_cli.stores.file.inbox import names as posts_in
from lousho_cli.stores.file.layout import INBOX, LOG, Layout, make_folder, name_of, storage_error, sync_folder

_TRIES = 100


def has_folder(layout: Layout, session_id: str) -> bool:
    """Whether a session has a folder, perhaps an empty one.

    Raises:
        StorageError: the disk does not say.
    """
    folder = layout.folder(session_id)
    try:
        return layout.check() and stat.S_ISDIR(os.stat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise storage_error(folder, error) from error


def is_there(folder: str) -> bool:
    """Whether a folder holds anything that a session is made of.

    Raises:
        StorageError: the disk does not say.
    """
    try:
        return _there(f"{folder}/{LOG}") or bool(posts_in(f"{folder}/{INBOX}"))
    except OSError as error:
        raise storage_error(folder, error) from error


def _there(path: str) -> bool:
    """``os.path.lexists``, which takes what it can not see for missing, with that told apart."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def remove(layout: Layout, session_id: str) -> None:
    """Moves the folder of a session out of the way and removes it, with whatever an earlier crash left in the trash.

    Raises:
        StorageError: it could not be moved.
    """
    folder = layout.folder(session_id)
    try:
        if _move(folder, layout.trash, name_of(session_id)):
            sync_folder(layout.sessions)
            _empty(layout.trash)
    except OSError as error:
        raise storage_error(folder, error) from error


def _move(folder: str, trash: Path, name: str) -> bool:
    """Moves a folder to the trash; False when somebody else removed it.

    Raises:
        OSError: it is where it was.
    """
    for _ in range(_TRIES):
        try:
            make_folder(trash)
            os.rename(folder, trash / f"{name}.{secrets.token_hex(6)}")
            return True
        except FileNotFoundError:
            if not _there(folder):
                return False
            # It is the trash that is gone: a person, or an older version, removed it just now.
    raise FileNotFoundError(errno.ENOENT, "the trash was removed each time", str(trash))


def _empty(trash: Path) -> None:
    """Removes what lies in the trash, but never the trash: another process may be about to move something there."""
    try:
        names = os.listdir(trash)
    except OSError:
        return  # the session is deleted all the same; what stays in the trash goes with the next one
    for name in names:
        shutil.rmtree(trash / name, ignore_errors=True)


def remove_in_place(layout: Layout, session_id: str) -> None:
    """Removes a folder where it is: on a full disk there is no room for anything else.

    Raises:
        StorageError: it could not be removed.
    """
    folder = layout.folder(session_id)
    try:
        os.unlink(f"{folder}/{LOG}")
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(folder, error) from error
