"""Small JSON files in one folder, each replaced as a whole: whoever reads, and a crash, finds the old one or the new one.

The name of a file is its id with capitals escaped. One that an older program wrote without that is
still found, and goes when its id is saved again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lousho_cli.core.session_ids import escaped
from lousho_cli.stores.file.layout import make_folder, open_file, read_file, storage_error, sync_folder, write_new
from lousho_cli.stores.threads import on_thread

T = TypeVar("T")

_LONGEST = 200  # file systems stop at 255 bytes a name, and a file gets a suffix


class JsonFiles:
    """The files ``<root>/<kind>/<id>.json``. Ids must have been checked; the folder is made by the first write."""

    def __init__(self, root: str | os.PathLike[str], kind: str) -> None:
        self._root = Path(root)
        self.folder = self._root / kind

    def path(self, name: str) -> str:
        """Where an id is written."""
        short = escaped(name)
        if len(short) > _LONGEST:
            short = f"{name.lower()[:120]}^^{hashlib.sha256(name.encode()).hexdigest()[:32]}"
        return f"{self.folder}/{short}.json"

    def find(self, name: str) -> str:
        """Where an id lies: its path, or that of an older file whose capitals stand as they are."""
        path, old = self.path(name), f"{self.folder}/{name}.json"
        if path == old or os.path.exists(path) or not self._has(f"{name}.json"):
            return path
        return old

    def _has(self, file_name: str) -> bool:
        """Whether there is a file of exactly this name, also on a disk that ignores case."""
        return file_name in self.names()

    def names(self) -> list[str]:
        """The names of all files here, in order; [] without a folder."""
        try:
            return sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(self.folder, error) from error

    def read(self, name: str) -> bytes | None:
        """What is stored under an id, None for nothing.

        Raises:
            StorageError: it can not be read.
        """
        path = self.find(name)
        try:
            return read_file(path)
        except OSError as error:
            raise storage_error(path, error) from error

    def replace(self, name: str, text: str) -> None:
        """Makes ``text`` what is stored under an id; durable on return.

        Raises:
            StorageError: it could not be written; what was there stands.
        """
        path, old = self.path(name), self.find(name)
        aside = f"{self.folder}/.{secrets.token_hex(8)}.tmp"
        try:
            self._make()
            write_new(aside, text.encode(), sync=True)
            os.replace(aside, path)
            if old != path:
                os.unlink(old)
            sync_folder(self.folder)
        except OSError as error:
            raise storage_error(path, error) from error

    def _make(self) -> None:
        if self.folder.is_dir():
            return
        self._root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self._root, self.folder):
            make_folder(folder)
            sync_folder(folder.parent)

    def remove(self, name: str) -> None:
        """Removes what is stored under an id; durable on return. No error when there is nothing.

        Raises:
            StorageError: it could not be removed.
        """
        path = self.find(name)
        try:
            os.unlink(path)
            sync_folder(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise storage_error(path, error) from error

    def take_claim(self, name: str) -> bool:
        """Marks an id as claimed; False when somebody else did, or nothing was ever stored here.

        Raises:
            StorageError: it could not be marked.
        """
        claim = self._claim(name)
        try:
            os.close(open_file(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except (FileExistsError, FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise storage_error(claim, error) from error
        return True

    def is_claimed(self, name: str) -> bool:
        """Whether an id is marked."""
        return os.path.exists(self._claim(name))

    def drop_claim(self, name: str) -> None:
        """Takes the mark away, if there is one."""
        claim = self._claim(name)
        try:
            os.unlink(claim)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise storage_error(claim, error) from error

    def _claim(self, name: str) -> str:
        return f"{self.path(name)}.claim"


async def in_thread(work: Callable[[], T]) -> T:
    """Runs ``work`` on a thread. A caller that is cancelled still waits for its end, so that a later write comes later."""
    running = asyncio.ensure_future(on_thread(None, work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
