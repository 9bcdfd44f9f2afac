"""What can be imported, one entry a kind: how it is told by looking, and how it is read.

A further kind is one more reader in ``interchange.reading`` and one more entry here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from lousho_cli.app.suggestions import TYPED, nearest
from lousho_cli.core.adopting import Gathered, gather
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.interchange.reading import claude_code, codex, documents, inspect_log, own_log, swe
from lousho_cli.interchange.reading.fields import mapping
from lousho_cli.interchange.reading.lines import parsed
from lousho_cli.interchange.reading.own_log import OwnLog
from lousho_cli.interchange.reading.values import Source
from lousho_cli.stores import foreign_files as files
from lousho_cli.stores import originals

AGENTS = "openai-agents"
ORIGINAL = "original"
KINDS = (claude_code.KIND, codex.KIND, *documents.KINDS, AGENTS, own_log.KIND, ORIGINAL)
"""The names that ``--from`` takes."""

_ENDINGS = (".jsonl", ".json", ".eval", ".db", ".sqlite", ".sqlite3", ".traj")


class Read(msgspec.Struct, frozen=True):
    """What a file or a folder holds, by how it becomes sessions. ``unreadable``: its parts that are no JSON, as (where, why)."""

    gathered: Gathered = Gathered()
    sources: tuple[Source, ...] = ()
    logs: tuple[OwnLog, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


class ImportKind(msgspec.Struct, frozen=True):
    """One kind. ``read`` gives what a path of it holds; it raises StorageError where that can not be read."""

    name: str
    read: Callable[[Path], Read]


def kind_of(path: Path, forced: str | None = None, *, branches: bool = False) -> ImportKind:
    """The kind of a path.

    Args:
        forced: the name of the kind it is, whatever it looks like.
        branches: what a talk left for a newer branch is read too.

    Raises:
        ConfigurationError: it is nothing that can be imported, or there is no kind of the forced name.
        StorageError: it can not be looked at.
    """
    if forced is not None and forced not in KINDS:
        near = nearest(forced, KINDS, TYPED)
        hint = f"{f'Did you mean {near}? ' if near else ''}Known are: {', '.join(KINDS)}."
        raise ConfigurationError(f"there is no kind {forced}", field="--from", code="LOUSHO_USAGE", hint=hint)
    name = forced or (ORIGINAL if originals.is_original(path) else _told_by(path))
    if name is None:
        raise ConfigurationError(
            f"{path} is nothing that can be imported",
            field="PATH",
            code="LOUSHO_IMPORT_UNKNOWN",
            hint=f"Known are: {', '.join(KINDS)}; --from names one where looking is not enough.",
        )
    return ImportKind(name, lambda path: _read(path, name, branches))


def files_in(folder: Path, without: Path | None = None) -> Iterator[Path]:
    """The files in a folder, at any depth, that may hold a session, in order. A link to a folder is not followed.

    Args:
        without: a folder in it that is not looked into, such as the store that is imported to.
    """
    for root, folders, names in os.walk(folder):
        here = Path(root)
        if _OURS in names and _is_own_log(here / _OURS):
            names, folders[:] = [_OURS], []  # what lies beside the log of a session is made of it
        folders[:] = sorted(name for name in folders if without is None or name != without.name or not _same(here / name, without))
        yield from (here / name for name in sorted(names) if name.endswith(_ENDINGS) and (here / name).is_file())


_OURS = "log.jsonl"


def _is_own_log(path: Path) -> bool:
    try:
        first = files.first_lines(path)
    except StorageError:
        return False  # who reads it says what is wrong
    return bool(first) and own_log.recognises(first[0])


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _told_by(path: Path) -> str | None:
    if path.is_dir():
        return None
    if files.is_agents_database(path):
        return AGENTS
    if files.is_zip(path):
        return inspect_log.KIND if any(True for _ in files.members_of(path, _SAMPLES)) else None
    first = files.first_lines(path)
    if first and own_log.recognises(first[0]):
        return own_log.KIND
    for value in filter(None, map(_object, first)):
        if codex.recognises(value):
            return codex.KIND
        if claude_code.recognises(value):
            return claude_code.KIND
    document = _document(path)
    if claude_code.lines_in(document) is not None:
        return claude_code.KIND
    told = documents.kind_of(document)
    return swe.KIND if told == documents.CHAT and ".traj" in path.name else told


_SAMPLES = "samples/"


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = parsed(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _document(path: Path) -> Any:
    """The one JSON value of a file, else the values of its lines, with None for those that are none."""
    try:
        return parsed(files.content_of(path))
    except ValueError:
        return [_object(line) for line in files.content_of(path).splitlines() if line.strip()]


def _read(path: Path, name: str, branches: bool) -> Read:
    stem = text_of(path.name if path.is_dir() else path.name.removesuffix(path.suffix))
    lines = files.lines_of(path)
    if name == ORIGINAL:
        return Read(gather(originals.read(path)))
    if name == AGENTS:
        found = files.agents_sessions(path)
        return Read(sources=tuple(documents.responses_rows(rows, session, AGENTS, AGENTS) for session, rows in found.items()))
    if name == own_log.KIND:
        return Read(logs=(own_log.read(lines, path.parent.name if path.name == "log.jsonl" else stem),))
    if name == codex.KIND:
        return Read(sources=tuple(codex.read(lines, stem)))
    if name == claude_code.KIND:
        inner = claude_code.lines_in(_document(path)) if path.suffix == ".json" else None
        return Read(sources=tuple(claude_code.read(inner or lines, stem, branches=branches)))
    if name == inspect_log.KIND and files.is_zip(path):
        return _samples(path, stem)
    try:
        return Read(sources=tuple(documents.read(_document(path), name, stem)))
    except RecursionError:
        raise StorageError(f"{path.name} can not be read: it is nested too deep") from None


def _samples(path: Path, stem: str) -> Read:
    sources: list[Source] = []
    unreadable: list[tuple[str, str]] = []
    header = next((_object(content) for _, content in files.members_of(path, "header.json") if isinstance(content, bytes)), None)
    run = mapping((header or {}).get("eval"))
    for name, content in files.members_of(path, _SAMPLES):
        try:
            if isinstance(content, StorageError):
                raise content
            value = parsed(content)
            sources.append(inspect_log.sample(value if isinstance(value, dict) else {}, run, stem))
        except (ValueError, StorageError) as error:
            unreadable.append((f"{path.name}: {name}", error.detail if isinstance(error, StorageError) else str(error)))
    return Read(sources=tuple(sources), unreadable=tuple(unreadable))
