"""Reads what the original product stored: its folders, single JSON records, and its SQLite file. Never writes to them.

Its folders are ``checkpoints/``, ``checkpoint-history/`` and ``approvals/``, with a file a record, in the folder itself,
under ``.lousho/``, or once an agent under ``agents/<id>/``. An approval beside a ``.claim`` was taken. In file names a
capital is ``^`` and its small letter.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from lousho_cli.core.adopting import Found
from lousho_cli.domain.times import stamp
from lousho_cli.errors import StorageError

Kind = Literal["checkpoint", "ring", "approval"]

FOLDERS: dict[str, Kind] = {"checkpoints": "checkpoint", "checkpoint-history": "ring", "approvals": "approval"}

_MAGIC = b"SQLite format 3\0"
_CAPITAL = re.compile(r"\^([a-z])")


def is_original(path: Path) -> bool:
    """Whether a path is a folder, a record or a database of the original.

    Raises:
        StorageError: it can not be looked at; or it is a damaged JSON file, of which nobody can tell.
    """
    try:
        if path.is_dir():
            return bool(_folders_in(path))
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise _unreadable(path, error) from error
    if start == _MAGIC:
        with opened(path) as connection:
            return is_original_database(connection)
    piece = _record(path, path.name, None) if path.suffix == ".json" else None
    if piece is not None and piece.broken:
        raise StorageError(f"{path.name}: {piece.broken}")
    return piece is not None


def read(path: Path) -> Iterator[Found]:
    """Everything in a folder, a record or a database that ``is_original``, piece by piece.

    Raises:
        StorageError: it can not be read at all. A single record that can not says so in its piece.
    """
    if path.is_dir():
        for folder, kind in _folders_in(path):
            yield from _files(path, folder, kind)
        for folder in (path / "sessions", path / ".lousho" / "sessions"):
            if number := len([file for file in folder.glob("*.json") if file.is_file()]):
                yield Found("transcripts", "", number, str(folder.relative_to(path.parent)))
    elif _is_database(path):
        with opened(path) as connection:
            yield from rows(connection, path.name)
    else:
        piece = _record(path, path.name, None)
        if piece is not None:
            yield piece


# Folders


def _folders_in(path: Path) -> list[tuple[Path, Kind]]:
    if path.name in FOLDERS:
        return [(path, FOLDERS[path.name])]
    roots = [root for root in (path, path / ".lousho") if root.is_dir()]
    agents = [agent for root in roots for agent in (sorted((root / "agents").iterdir()) if (root / "agents").is_dir() else ())]
    return [(root / name, kind) for root in (*roots, *agents) for name, kind in FOLDERS.items() if (root / name).is_dir()]


def _files(source: Path, folder: Path, kind: Kind) -> Iterator[Found]:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json") and entry.is_file())
        taken = {entry.name for entry in folder.glob("*.json.claim")}
    except OSError as error:
        raise _unreadable(folder, error) from error
    for name in names:
        if f"{name}.claim" in taken:
            continue
        file = folder / name
        piece = _record(file, str(file.relative_to(source.parent)), kind)
        assert piece is not None, "its folder says what it is"
        yield piece


def _record(path: Path, where: str, kind: Kind | None) -> Found | None:
    """One JSON file. Without a ``kind`` its content tells; None where that is nothing of the original's."""
    session_id = _CAPITAL.sub(lambda match: match[1].upper(), path.name.removesuffix(".json"))
    try:
        at = stamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
        value = _parsed(path.read_bytes())
    except OSError as error:
        return Found(kind or "checkpoint", session_id, None, where, broken=f"it can not be read: {error.strerror}")
    except ValueError as error:
        return Found(kind or "checkpoint", session_id, None, where, broken=str(error))
    told = kind or _kind_of(value)
    if told is None:
        return None
    return Found(told, session_id if kind else _id_in(value) or session_id, value, where, at)


def _kind_of(value: Any) -> Kind | None:
    if isinstance(value, list):
        return "ring" if value and all(isinstance(one, dict) and "checkpoint" in one for one in value) else None
    if not isinstance(value, dict):
        return None
    if "snapshot" in value and "pending" in value:
        return "approval"
    return "checkpoint" if "messages" in value and ("sessionId" in value or "session_id" in value) else None


def _id_in(value: Any) -> str | None:
    record = value[-1]["checkpoint"] if isinstance(value, list) else value
    found = record.get("sessionId", record.get("session_id")) if isinstance(record, dict) else None
    return found if isinstance(found, str) else None


def _parsed(text: str | bytes) -> Any:
    """The JSON of a record.

    Raises:
        ValueError: it is none; says what is wrong.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from error


# Databases


def is_original_database(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables of the original, and none of ours.

    Raises:
        StorageError: it is damaged.
    """
    try:
        if not {"checkpoints", "approvals"} <= _tables(connection):
            return False
        return {"session_id", "payload"} <= {row[1] for row in connection.execute("PRAGMA table_info(checkpoints)")}
    except sqlite3.Error as error:
        raise StorageError(f"the database can not be read: {error}") from error


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def rows(connection: sqlite3.Connection, where: str) -> Iterator[Found]:
    """Everything in a database of the original: checkpoints, their rings, and the approvals nobody decided.

    Args:
        where: its name, for people.

    Raises:
        StorageError: it is damaged.
    """
    try:
        for session_id, payload, at in connection.execute("SELECT session_id, payload, updated_at FROM checkpoints ORDER BY session_id"):
            yield _row("checkpoint", session_id, payload, at, f"{where}: checkpoint {session_id}")
        yield from _rings(connection, where)
        if "sessions" in _tables(connection) and (number := connection.execute("SELECT count(*) FROM sessions").fetchone()[0]):
            yield Found("transcripts", "", number, f"{where}: table sessions")
        open_ones = "SELECT id, payload, updated_at FROM approvals WHERE resolved_at IS NULL ORDER BY id"
        for approval_id, payload, at in connection.execute(open_ones):
            yield _row("approval", approval_id, payload, at, f"{where}: approval {approval_id}")
    except sqlite3.Error as error:
        raise StorageError(f"{where} can not be read: {error}") from error


def _rings(connection: sqlite3.Connection, where: str) -> Iterator[Found]:
    """The history of each session, where the file is new enough to have one."""
    if "checkpoint_history" not in _tables(connection):
        return
    names = [row[0] for row in connection.execute("SELECT DISTINCT session_id FROM checkpoint_history ORDER BY session_id")]
    for session_id in names:
        ring, said = [], f"{where}: history of {session_id}"
        entries = connection.execute(
            "SELECT id, step, status, saved_at, payload FROM checkpoint_history WHERE session_id = ? ORDER BY id", (session_id,)
        )
        for row_id, step, status, saved_at, payload in entries:
            try:
                ring.append({"step": step, "status": status, "savedAt": saved_at, "checkpoint": _parsed(payload)})
            except (ValueError, TypeError) as error:
                yield Found("ring", session_id, None, f"{said}, row {row_id}", broken=str(error))
        yield Found("ring", session_id, ring, said)


def _row(kind: Kind, row_id: str, payload: Any, at: Any, where: str) -> Found:
    try:
        return Found(kind, row_id, _parsed(payload), where, stamp(datetime.fromtimestamp(at / 1000, UTC)))
    except (ValueError, TypeError, OverflowError, OSError) as error:
        return Found(kind, row_id, None, where, broken=str(error))


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, opened so that nothing in or beside it changes.

    One that was closed is read in place. One with a write-ahead log would be tidied up, or locked, by whoever
    opens it, so a copy is read.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        if not log.exists() or not log.stat().st_size:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                yield connection
            return
        with tempfile.TemporaryDirectory(prefix="lousho-") as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(log.name))
            with closing(sqlite3.connect(copy)) as connection:
                yield connection
    except sqlite3.Error as error:
        raise StorageError(f"{path.name} can not be read: {error}") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path.name} can not be read: {error.strerror}")
