"""Reads files that other agents keep their sessions in. Never writes to them, and opens nothing that changes when it is looked at."""

from __future__ import annotations

import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lousho_cli.domain.plain import plain
from lousho_cli.errors import StorageError
from lousho_cli.stores.originals import opened

LOOKED_AT = 64
"""So many lines tell what a file of lines is."""

LARGEST = 1 << 28
"""So many bytes a file in an archive may have, unpacked."""

_ZIP = b"PK\x03\x04"
_SQLITE = b"SQLite format 3\0"
_LONGEST = 1 << 24


def lines_of(path: Path) -> Callable[[], Iterator[bytes]]:
    """The lines of a file, from the first on each time they are asked for.

    Raises:
        StorageError: it can not be read.
    """

    def lines() -> Iterator[bytes]:
        try:
            with path.open("rb") as file:
                yield from file
        except OSError as error:
            raise _unreadable(path, error) from error

    return lines


def first_lines(path: Path) -> list[bytes]:
    """The first lines that are not blank. Raises as ``lines_of``."""
    found: list[bytes] = []
    try:
        with path.open("rb") as file:
            while len(found) < LOOKED_AT and (line := file.readline(_LONGEST)):
                if line.strip():
                    found.append(line)
    except OSError as error:
        raise _unreadable(path, error) from error
    return found


def content_of(path: Path) -> bytes:
    """All of a file. Raises as ``lines_of``."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def is_zip(path: Path) -> bool:
    """Whether a file is a zip archive. Raises as ``lines_of``."""
    return _begins(path, _ZIP)


def members_of(path: Path, folder: str) -> Iterator[tuple[str, bytes | StorageError]]:
    """The files in a folder of a zip archive, by name: what they hold, or why that can not be read.

    Raises:
        StorageError: the archive can not be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for info in sorted(archive.infolist(), key=lambda one: one.filename):
                if info.filename.startswith(folder) and info.filename.endswith(".json"):
                    yield info.filename, _member(archive, info)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise StorageError(f"{path.name} can not be read: {error}") from error


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes | StorageError:
    if info.file_size > LARGEST:  # no more than this is ever unpacked of it
        return StorageError(f"it can not be read: unpacked it has {info.file_size} bytes, and at most {LARGEST} are read")
    try:
        return archive.read(info)
    except Exception as error:  # noqa: BLE001 - each way to pack has errors of its own for what is damaged
        return StorageError(f"it can not be read: {error}")


def is_agents_database(path: Path) -> bool:
    """Whether a file is an SQLite database with the two tables of the OpenAI Agents SDK.

    Raises:
        StorageError: it can not be read, or is damaged.
    """
    if not _begins(path, _SQLITE):
        return False
    with opened(path) as connection:
        try:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {row[0] for row in rows} >= {"agent_sessions", "agent_messages"}
        except sqlite3.Error as error:
            raise StorageError(f"{path.name} can not be read: {error}") from error


def agents_sessions(path: Path) -> dict[str, list[tuple[Any, Any]]]:
    """What such a database holds: by session the items in their order, each with its time; a ValueError in place of a bad one.

    Raises:
        StorageError: it can not be read, or is damaged.
    """
    found: dict[str, list[tuple[Any, Any]]] = {}
    with opened(path) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            for session_id, data, at in connection.execute("SELECT session_id, message_data, created_at FROM agent_messages ORDER BY id"):
                try:
                    item = plain(json.loads(data))[0]
                except (ValueError, TypeError, RecursionError) as error:
                    item = ValueError(f"it is no JSON: {error}")
                found.setdefault(str(session_id), []).append((item, at))
        except sqlite3.Error as error:
            raise StorageError(f"{path.name} can not be read: {error}") from error
    return found


def _begins(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path.name} can not be read: {error.strerror or error}")
