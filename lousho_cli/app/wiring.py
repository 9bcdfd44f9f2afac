"""Puts the parts together: which store a URL opens. The only module that names concrete stores.

A command that reads never creates a store: without one there is nothing to read, and that is
an answer, not an error.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lousho_cli.app.config_files import store_setting
from lousho_cli.app.places import STORE_FOLDER, find_store_folder
from lousho_cli.app.store_urls import kind_of
from lousho_cli.errors import ConfigurationError, NotAStoreError
from lousho_cli.ports.log_store import LogStore

STORE_VARIABLE = "LOUSHO_STORE"


class StorePlace(msgspec.Struct, frozen=True):
    """Which store is meant and who said so.

    url: a path or a store URL. source: ``flag``, ``environment``, ``project file``, ``user file``
    or ``default``. where: the variable, the file, or how it was found.
    """

    url: str
    source: str
    where: str = ""

    @property
    def folder(self) -> Path | None:
        """The store's folder; None for a store that is none."""
        return Path(self.url).expanduser().absolute() if kind_of(self.url) == "path" else None


def locate_store(flag: str | None = None) -> StorePlace:
    """Which store is meant: the flag, LOUSHO_STORE, a configuration file, the nearest ``.lousho``, else one here.

    Raises:
        ConfigurationError: a configuration file is not valid, or there is no current folder.
    """
    if flag is not None:
        return StorePlace(flag, "flag", "--store")
    if os.environ.get(STORE_VARIABLE):
        return StorePlace(os.environ[STORE_VARIABLE], "environment", STORE_VARIABLE)
    here = current_folder()
    configured = store_setting(here)
    if configured is not None:
        url, kind, file = configured
        return StorePlace(url, kind, str(file))
    found = find_store_folder(here)
    if found is not None:
        return StorePlace(str(found), "default", "found by walking up")
    return StorePlace(str(here / STORE_FOLDER), "default", "not there yet")


def current_folder() -> Path:
    """The working directory.

    Raises:
        ConfigurationError: it was removed.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise ConfigurationError("the current folder is gone", field="store", hint="Change to another folder.") from error


def open_store(flag: str | None = None, *, create: bool) -> LogStore | None:
    """The store that is meant.

    Args:
        flag: what ``--store`` said, None when it was not given.
        create: whether the caller is going to write. A file store itself comes into being at the
            first write; with False, None is given where there is none yet.

    Raises:
        ConfigurationError: the URL is not valid, or names a kind this version does not have.
        NotAStoreError: the path is something else.
    """
    place = locate_store(flag)
    folder = place.folder
    if folder is not None:
        return _file_store(folder, create=create)
    if kind_of(place.url) == "memory":
        from lousho_cli.stores.memory import MemoryStore

        return MemoryStore()
    raise ConfigurationError(
        f"{kind_of(place.url)}: stores are not in this version",
        field="store",
        hint="Use a folder, such as --store .lousho",
    )


def _file_store(folder: Path, *, create: bool) -> LogStore | None:
    sessions = folder / "sessions"
    for path in (folder, sessions):
        if path.exists() and not path.is_dir():
            raise NotAStoreError(f"{path} is a file, not a store", hint="A store is a folder that holds sessions/.")
    if not create and not sessions.is_dir():
        return None
    from lousho_cli.stores.file.store import FileStore

    return FileStore(folder)
