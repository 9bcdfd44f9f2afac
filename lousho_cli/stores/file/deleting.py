"""Deletes a session: its folder goes to ``.trash/`` in one step, and is emptied there."""

from __future__ import annotations

import os
import secrets
import shutil

from lousho_cli.stores.file.inbox import names as posts_in
from lousho_cli.stores.file.layout import INBOX, LOG, Layout, make_folder, name_of, storage_error, sync_folder


def has_folder(layout: Layout, session_id: str) -> bool:
    """Whether a session has a folder, perhaps an empty one."""
    folder = layout.folder(session_id)
    return layout.check() and os.path.isdir(folder)


def is_there(folder: str) -> bool:
    """Whether a folder holds anything that a session is made of."""
    return os.path.lexists(f"{folder}/{LOG}") or bool(posts_in(f"{folder}/{INBOX}"))


def remove(layout: Layout, session_id: str) -> None:
    """Moves the folder of a session out of the way and removes it, with whatever an earlier crash left in the trash.

    Raises:
        StorageError: it could not be moved.
    """
    folder = layout.folder(session_id)
    try:
        make_folder(layout.trash)
        os.rename(folder, layout.trash / f"{name_of(session_id)}.{secrets.token_hex(6)}")
        sync_folder(layout.sessions)
    except FileNotFoundError:
        return  # somebody else deleted it
    except OSError as error:
        raise storage_error(folder, error) from error
    shutil.rmtree(layout.trash, ignore_errors=True)


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
