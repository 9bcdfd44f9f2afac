"""``import``: sessions that something else stored become sessions of this store.

A second import adds only what is new. A session that went on here, or another one under the same id, is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from lousho_cli.app.import_kinds import ORIGINAL, ImportKind, Read, files_in, kind_of
from lousho_cli.app.import_results import Import, Imported, NotImported
from lousho_cli.app.importing_checkpoints import import_checkpoints
from lousho_cli.app.importing_logs import import_log
from lousho_cli.app.importing_talks import import_talk
from lousho_cli.errors import ConfigurationError, NotFoundError, StorageError
from lousho_cli.interchange.reading.values import Source
from lousho_cli.ports.log_store import LogStore

PARTIAL = "LOUSHO_IMPORT_PARTIAL"


async def import_paths(
    store: LogStore | None,
    paths: Sequence[Path],
    *,
    dry_run: bool,
    forced: str | None = None,
    strict: bool = False,
    branches: bool = False,
) -> Import:
    """Imports everything that lies under ``paths``.

    Args:
        store: where to; None stands for one that is not there yet, and is only for a dry run.
        forced: the kind that all of it is; None finds out by looking.
        strict: import nothing where something can not be read.
        branches: what a talk left for a newer branch becomes sessions too.

    Raises:
        NotFoundError: a path is not there; nothing was written.
        ConfigurationError: a path is nothing that can be imported; nothing was written.
        StorageError: a path can not be read, or the store can not be written; or it is ``strict`` and something can not be read.
    """
    for path in paths:
        _require_there(path)
    failed: list[NotImported] = []
    from lousho_cli.stores.file.store import FileStore

    own = store.layout.root if isinstance(store, FileStore) else None
    found = [one for path in paths for one in _found(path, forced, failed, branches, own)]
    if strict:
        _require_whole(await _import_all(store, found, failed, dry_run=True))
    return await _import_all(store, found, failed, dry_run=dry_run)


def _require_there(path: Path) -> None:
    try:
        there = path.exists()
    except OSError:  # its name is longer than any file's, or it lies where nobody may look
        there = False
    if not there:
        raise NotFoundError(f"there is no {path}", code="LOUSHO_IMPORT_NOT_FOUND", hint="Give a file or a folder that is there.")
    if not path.is_file() and not path.is_dir():
        hint = "What comes out of a pipe or a device can be read only once: write it to a file first."
        raise ConfigurationError(f"{path} is no file and no folder", field="PATH", code="LOUSHO_IMPORT_UNKNOWN", hint=hint)


def _found(path: Path, forced: str | None, failed: list[NotImported], branches: bool, own: Path | None) -> list[tuple[Path, ImportKind]]:
    """What a path is; of a folder that is no kind by itself, each file in it that is one. What can not be looked at goes to ``failed``."""
    try:
        if forced in (None, ORIGINAL) or not path.is_dir():
            return [(path, kind_of(path, forced, branches=branches))]
    except ConfigurationError:
        if not path.is_dir():
            raise
    found = []
    for file in files_in(path, own):
        try:
            found.append((file, kind_of(file, forced, branches=branches)))
        except ConfigurationError:
            if forced is not None:
                raise
        except StorageError as error:
            failed.append(_not_read(file, error))
    if not found and not failed:
        return [(path, kind_of(path))]  # which says that it is none
    return found


def _not_read(path: Path, error: StorageError) -> NotImported:
    return NotImported(str(path), error.detail.removeprefix(f"{path.name}: "))


async def _import_all(
    store: LogStore | None, found: Sequence[tuple[Path, ImportKind]], unseen: Sequence[NotImported], *, dry_run: bool
) -> Import:
    done: list[Imported] = []
    failed = list(unseen)
    left: list[str] = []
    names: dict[str, str] = {}
    for path, kind in found:
        try:
            read = kind.read(path)
        except StorageError as error:
            if len(found) == 1:
                raise
            failed.append(_not_read(path, error))
            continue
        await _import_read(store, path, read, names, done, failed, left, dry_run=dry_run)
    return Import(dry_run, tuple(done), tuple(failed), tuple(left))


async def _import_read(
    store: LogStore | None,
    path: Path,
    read: Read,
    names: dict[str, str],
    done: list[Imported],
    failed: list[NotImported],
    left: list[str],
    *,
    dry_run: bool,
) -> None:
    failed += [NotImported(where, why) for where, why in (*read.gathered.unreadable, *read.unreadable)]
    left += read.gathered.left
    done += [await import_checkpoints(store, adopted, dry_run=dry_run) for adopted in read.gathered.sessions]
    done += [await import_log(store, log, path, dry_run=dry_run) for log in read.logs]
    for source in _apart(read.sources):
        if not any(entry.message.role in ("user", "assistant") for entry in source.entries()):
            lines = "".join(f"; {source.unit} {bad.line}: {bad.why}" for bad in source.bad[:1])
            failed.append(NotImported(str(path), f"it holds no message{lines}"))
            continue
        imported = await import_talk(store, source, path, names, dry_run=dry_run)
        left += [f"{path.name}: {said}" for said in source.told]
        done.append(imported)


def _apart(sources: Iterable[Source]) -> Iterator[Source]:
    """Sessions of one file, each with an id of its own: two of them are never one that grew."""
    seen: Counter[str] = Counter()
    for source in sources:
        seen[source.id] += 1
        count = seen[source.id]
        yield source if count == 1 else msgspec.structs.replace(source, id=f"{source.id}.{count}")


def _require_whole(outcome: Import) -> None:
    said = [f"{one.source}: {one.why}" for one in outcome.failed]
    said += [f"{one.source}, {one.unit} {bad.line}: {bad.why}" for one in outcome.sessions for bad in one.bad_lines]
    if said:
        more = f", and {len(said) - 1} more" if len(said) > 1 else ""
        hint = "Import without --strict to take all that can be read."
        raise StorageError(f"not all of it can be read, so nothing was imported: {said[0]}{more}", code=PARTIAL, hint=hint)
