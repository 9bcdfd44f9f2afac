"""Puts the parts together: which store a URL opens. The only module that names concrete stores.

A command that reads never creates a store: without one there is nothing to read, and that is
an answer, not an error.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lousho_cli.app.config_files import store_setting
from lousho_cli.app.places import STORE_FOLDER, find_store_folder
from lousho_cli.app.store_urls import kind_of, kv_parts
from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT
from lousho_cli.errors import ConfigurationError, NotAStoreError
from lousho_cli.ports.log_store import LogStore

if TYPE_CHECKING:
    from lousho_cli.app.plain_sessions import PlainSessions
    from lousho_cli.stores.findings import Finding as StoreFinding
    from lousho_cli.stores.postgres.store import PostgresStore
    from lousho_cli.stores.sqlite.store import SqliteStore
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

    @property
    def inside(self) -> Path | None:
        """The store that lies in a named folder which is none itself, as where that of a project was meant; None where all is well."""
        folder = self.folder
        if folder is None or os.path.exists(folder / "sessions") or not os.path.isdir(folder / STORE_FOLDER / "sessions"):
            return None
        return Path(self.url) / STORE_FOLDER

    @property
    def file(self) -> Path | None:
        """The store's one file; None for a store that is none."""
        return _file_of(self.url) if kind_of(self.url) == "sqlite" else None


def _file_of(url: str) -> Path:
    path = url.partition(":")[2]
    if not path.strip():
        raise ConfigurationError("sqlite: names no file", field="store", hint="Write the path behind it, such as sqlite:lousho.db")
    return Path(path).expanduser().absolute()


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
        ConfigurationError: the URL is not valid, or what its kind needs is not installed.
        NotAStoreError: the path is something else.
    """
    place = locate_store(flag)
    folder = place.folder
    if folder is not None:
        return _file_store(folder, history_limit, create=create)
    if kind_of(place.url) == "memory":
        from lousho_cli.stores.memory import MemoryStore

        return MemoryStore(history_limit)
    if kind_of(place.url) == "kv":
        raise ConfigurationError(
            f"{place.url} keeps checkpoints, not logs: a run can not be driven, listed or decided there",
            field="store",
            hint="show, history, fork, diff and export take it; the others need a folder, sqlite:FILE or postgresql://…",
        )
    if place.file is not None:
        return _sqlite_store(place.file, history_limit, create=create)
    from lousho_cli.stores.postgres.store import PostgresStore

    return PostgresStore(place.url, history_limit)  # reading makes no table in it


def open_to_look(flag: str | None = None) -> LogStore | PlainSessions | None:
    """The store that is meant, to show sessions, compare them and fork from them: what ``open_store`` gives, and ``kv:`` too.

    Raises:
        ConfigurationError, NotAStoreError: as ``open_store``; or the token of a ``kv:`` store is missing.
    """
    place = locate_store(flag)
    return _kv_sessions(place.url) if kind_of(place.url) == "kv" else open_store(flag, create=False)


def _kv_sessions(url: str) -> PlainSessions:
    """The sessions of a KV namespace: those of a ``KVStore``, and those of a ``KVCheckpointStore`` with the same prefix."""
    from lousho_cli.app.plain_sessions import Kept, PlainSessions
    from lousho_cli.stores.kv.checkpoints import KVCheckpointStore
    from lousho_cli.stores.kv.rest import CloudflareKV
    from lousho_cli.stores.kv.store import KVStore

    account, namespace, prefix = kv_parts(url)
    keys = CloudflareKV(account, namespace)
    both = KVStore(keys, prefix)
    return PlainSessions((Kept(both.checkpoints, both.approvals), Kept(KVCheckpointStore(keys, prefix), both.approvals)))


async def checkpoints_to_fork(store: LogStore | PlainSessions, session_id: str) -> Any:
    """The checkpoint store that a session can be forked in."""
    from lousho_cli.app.plain_sessions import PlainSessions

    return await store.checkpoints_of(session_id) if isinstance(store, PlainSessions) else checkpoints_of(store)


def _file_store(folder: Path, history_limit: int, *, create: bool) -> LogStore | None:
    sessions = folder / "sessions"
    nearest = next(path for path in (sessions, *sessions.parents) if path.exists())
    if not nearest.is_dir():
        raise NotAStoreError(f"{nearest} is a file, not a store", hint="A store is a folder that holds sessions/.")
    if not create and not sessions.is_dir():
        return None
    from lousho_cli.stores.file.store import FileStore

    return FileStore(folder, history_limit)


def _sqlite_store(file: Path, history_limit: int, *, create: bool) -> LogStore | None:
    if not create and not os.path.lexists(file):
        return None
    from lousho_cli.stores.sqlite.store import SqliteStore

    return SqliteStore(file, history_limit)


def checkpoints_of(store: LogStore) -> CheckpointView:
    """The checkpoint store over a log store, with its ``log_store`` for the executor."""
    from lousho_cli.stores.views import CheckpointView

    return CheckpointView(store)


def approvals_of(store: LogStore) -> ApprovalView:
    """The approval store over the same."""
    from lousho_cli.stores.views import ApprovalView

    return ApprovalView(store)


def log_stamps(store: LogStore, newest: int | None = None) -> tuple[dict[str, tuple[int, ...]], int] | None:
    """How each log of a store looks from outside, by session id; the larger, the newer. Cheap: no log is read.

    One that has the same stamp as before holds what it held. None for a store that can not tell.

    Args:
        newest: look at no more than so many, those that seem to have begun last, however many there are.

    Returns:
        The stamps, and how many logs were not looked at.

    Raises:
        StorageError: the store itself can not be read.
    """
    from lousho_cli.stores.file.store import FileStore

    if isinstance(store, FileStore):
        from lousho_cli.stores.file import stamps as of_files

        return of_files.stamps(store.layout, newest)
    postgres = _postgres_of(store)
    if postgres is not None:
        from lousho_cli.stores.postgres import stamps as of_server

        nothing: tuple[dict[str, tuple[int, ...]], int] = ({}, 0)
        return postgres.database.look(partial(of_server.stamps, newest=newest), nothing)
    from lousho_cli.stores.sqlite.store import SqliteStore

    if not isinstance(store, SqliteStore):
        return None
    from lousho_cli.stores.sqlite import stamps as of_rows

    return of_rows.stamps(store.database, newest)


async def inspect_logs(store: LogStore, session_id: str | None = None) -> list[StoreFinding]:
    """What ``fsck`` finds in a store, or in one session of it. Writes nothing.

    Raises:
        ConfigurationError: this kind of store has nothing to look through.
        StorageError: the store itself can not be read.
    """
    from lousho_cli.stores.file.store import FileStore

    if isinstance(store, FileStore):
        from lousho_cli.stores.file import fsck as in_files

        return in_files.check_session(store.layout, session_id) if session_id is not None else await in_files.check(store)
    postgres = _postgres_of(store)
    if postgres is not None:
        from lousho_cli.stores.postgres import fsck as on_server

        found = on_server.check_session(postgres.database, session_id) if session_id is not None else on_server.check(postgres.database)
        return await found
    from lousho_cli.stores.sqlite import fsck as in_database

    database = _database_of(store)
    return in_database.check_session(database, session_id) if session_id is not None else in_database.check(database)


async def repair_log(store: LogStore, session_id: str) -> str | None:
    """Repairs one session; says where the damaged log is kept, None when there was nothing to repair.

    Raises:
        SessionBusyError: somebody drives it.
        StorageError: it can not be repaired or written.
    """
    from lousho_cli.stores.file.store import FileStore

    if isinstance(store, FileStore):
        from lousho_cli.stores.file.repair import repair as repair_file

        return await repair_file(store, session_id)
    postgres = _postgres_of(store)
    if postgres is not None:
        from lousho_cli.stores.postgres.repair import repair as repair_on_server

        return await repair_on_server(postgres, session_id)
    from lousho_cli.stores.sqlite.repair import repair as repair_rows

    return await repair_rows(_database_of(store), session_id)


def close_store(store: LogStore) -> None:
    """Closes what a store has open to a server, so that a process which ends does not wait for one that is away."""
    postgres = _postgres_of(store)
    if postgres is not None:
        postgres.close()


def describe_store(store: LogStore | PlainSessions) -> str:
    """What a server says of itself, once it was reached; '' for a store without one.

    Raises:
        StorageError: it can not be reached.
        LogVersionError: a newer version made its tables into what this one does not know.
    """
    postgres = _postgres_of(store)
    return postgres.describe() if postgres is not None else ""


def _postgres_of(store: LogStore | PlainSessions) -> PostgresStore | None:
    """The store, where it is one in PostgreSQL. Its driver is loaded only where there is one."""
    module = sys.modules.get("lousho_cli.stores.postgres.store")
    return store if module is not None and isinstance(store, module.PostgresStore) else None


def _database_of(store: LogStore) -> SqliteStore:
    from lousho_cli.stores.sqlite.store import SqliteStore

    if not isinstance(store, SqliteStore):
        raise ConfigurationError("a store in memory has nothing to check", field="store")
    return store
