"""Puts the parts together: which store a URL opens. The only module that names concrete stores.

A command that reads never creates a store: without one there is nothing to read, and that is
an answer, not an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lousho_cli.app.config_files import store_setting
from lousho_cli.app.places import STORE_FOLDER, find_store_folder
from lousho_cli.app.store_urls import kind_of
from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT
from lousho_cli.errors import ConfigurationError, NotAStoreError
from lousho_cli.ports.log_store import LogStore

if TYPE_CHECKING:
    from lousho_cli.stores.file.fsck import Finding as StoreFinding
    from lousho_cli.stores.file.store import FileStore
    from lousho_cli.stores.views import ApprovalView, CheckpointView

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


def open_store(flag: str | None = None, *, create: bool, history_limit: int = DEFAULT_HISTORY_LIMIT) -> LogStore | None:
    """The store that is meant.

    Args:
        flag: what ``--store`` said, None when it was not given.
        create: whether the caller is going to write. A file store itself comes into being at the
            first write; with False, None is given where there is none yet.
        history_limit: how many checkpoints of a session are kept by what is written.

    Raises:
        ConfigurationError: the URL is not valid, or names a kind this version does not have.
        NotAStoreError: the path is something else.
    """
    place = locate_store(flag)
    folder = place.folder
    if folder is not None:
        return _file_store(folder, history_limit, create=create)
    if kind_of(place.url) == "memory":
        from lousho_cli.stores.memory import MemoryStore

        return MemoryStore(history_limit)
    raise ConfigurationError(
        f"{kind_of(place.url)}: stores are not in this version",
        field="store",
        hint="Use a folder, such as --store .lousho",
    )


def _file_store(folder: Path, history_limit: int, *, create: bool) -> LogStore | None:
    sessions = folder / "sessions"
    nearest = next(path for path in (sessions, *sessions.parents) if path.exists())
    if not nearest.is_dir():
        raise NotAStoreError(f"{nearest} is a file, not a store", hint="A store is a folder that holds sessions/.")
    if not create and not sessions.is_dir():
        return None
    from lousho_cli.stores.file.store import FileStore

    return FileStore(folder, history_limit)


def checkpoints_of(store: LogStore) -> CheckpointView:
    """The seed's checkpoint store over a log store, with its ``log_store`` for the executor."""
    from lousho_cli.stores.views import CheckpointView

    return CheckpointView(store)


def approvals_of(store: LogStore) -> ApprovalView:
    """The seed's approval store over the same."""
    from lousho_cli.stores.views import ApprovalView

    return ApprovalView(store)


async def inspect_logs(store: LogStore, session_id: str | None = None) -> list[StoreFinding]:
    """What ``fsck`` finds in a store, or in one session of it. Writes nothing.

    Raises:
        ConfigurationError: this kind of store has nothing to look through.
        StorageError: the store itself can not be read.
    """
    from lousho_cli.stores.file import fsck

    files = _files_of(store)
    return fsck.check_session(files.layout, session_id) if session_id is not None else await fsck.check(files)


async def repair_log(store: LogStore, session_id: str) -> str | None:
    """Repairs one session; gives the path of the damaged log that was kept, None when there was nothing to repair.

    Raises:
        SessionBusyError: somebody drives it.
        StorageError: it can not be repaired or written.
    """
    from lousho_cli.stores.file.repair import repair

    return await repair(_files_of(store), session_id)


def _files_of(store: LogStore) -> FileStore:
    from lousho_cli.stores.file.store import FileStore

    if not isinstance(store, FileStore):
        raise ConfigurationError("only a store of files can be checked", field="store")
    return store
