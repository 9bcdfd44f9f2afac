"""``import``: sessions that something else stored become sessions of this store.

A second import adds only what is new. A session that went on here, or another one under the same id, is left alone.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from lousho_cli.app.import_kinds import kind_of
from lousho_cli.core.adopting import Adopted, Standing, batches_of, standing_of
from lousho_cli.core.heads import head_of
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, NotFoundError, SessionBusyError
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)

Result = Literal["imported", "extended", "unchanged", "skipped"]


class Imported(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one session.

    checkpoints: how many were written. was: its id where it came from, if that can not be one here.
    waits_for: the approval that can be decided now. why: the reason it was skipped.
    """

    session: str
    source: str
    result: Result
    checkpoints: int
    waits_for: str | None = None
    was: str | None = None
    why: str | None = None


class NotImported(msgspec.Struct, frozen=True):
    """Something that was found and could not be read, and why."""

    source: str
    why: str


class Import(msgspec.Struct, frozen=True):
    """What was done, or with ``dry_run`` would be. ``left`` says in words what was left where it is."""

    dry_run: bool
    sessions: tuple[Imported, ...]
    failed: tuple[NotImported, ...]
    left: tuple[str, ...] = ()

    @property
    def empty_handed(self) -> bool:
        """Whether nothing of what was found is here now."""
        return not any(one.result != "skipped" for one in self.sessions) and bool(self.sessions or self.failed)


async def import_paths(store: LogStore | None, paths: Sequence[Path], *, dry_run: bool) -> Import:
    """Imports everything that lies under ``paths``.

    Args:
        store: where to; None stands for one that is not there yet, and is only for a dry run.

    Raises:
        NotFoundError: a path is not there; nothing was written.
        ConfigurationError: a path is nothing that can be imported; nothing was written.
        StorageError: a path can not be read, or the store can not be written.
    """
    for path in paths:
        if not path.exists():
            raise NotFoundError(f"there is no {path}", code="LOUSHO_IMPORT_NOT_FOUND", hint="Give a folder, a JSON file or an SQLite file.")
    kinds = [kind_of(path) for path in paths]
    done: list[Imported] = []
    failed: list[NotImported] = []
    left: list[str] = []
    for path, kind in zip(paths, kinds, strict=True):
        gathered = kind.read(path)
        failed += [NotImported(where, why) for where, why in gathered.unreadable]
        left += gathered.left
        done += [await _import(store, adopted, dry_run=dry_run) for adopted in gathered.sessions]
    return Import(dry_run, tuple(done), tuple(failed), tuple(left))


async def _import(store: LogStore | None, adopted: Adopted, *, dry_run: bool) -> Imported:
    was = adopted.id
    name = _NOT_IN_IDS.sub("-", was).lstrip(".-")
    adopted = msgspec.structs.replace(adopted, id=name)
    done = Imported(session=name, source=adopted.where, result="skipped", checkpoints=0, was=was if was != name else None)
    try:
        check_session_id(name)
        if adopted.cleared and store is not None and not store.history_limit:
            return msgspec.structs.replace(done, why="only its history was kept, and this store keeps none")
        here = await read_session(store, name) if store is not None else Session()
        standing = standing_of(adopted, here)
        if standing is None:
            return msgspec.structs.replace(done, why="another session has this id here")
        new = len(adopted.entries) - standing.entries
        written = min(new, max(store.history_limit, 1)) if store is not None else new
        if new and standing.touched:
            return msgspec.structs.replace(done, why="it went on here since it was imported")
        if new and store is not None and not dry_run:
            await _write(store, adopted, standing)
    except (ConfigurationError, SessionBusyError, DamagedLogError, LogVersionError) as error:
        return msgspec.structs.replace(done, why=error.detail)
    result: Result = "unchanged" if not new else "extended" if standing.entries else "imported"
    waits = adopted.approval.pending.id if adopted.approval is not None and not standing.touched else None
    return msgspec.structs.replace(done, result=result, checkpoints=written, waits_for=waits)


async def _write(store: LogStore, adopted: Adopted, standing: Standing) -> None:
    claim = await store.claim(adopted.id, socket.gethostname())
    try:
        here = await read_session(store, adopted.id)
        if standing_of(adopted, here) != standing:
            raise SessionBusyError(adopted.id, "somebody who wrote to it meanwhile", hint="Import it again.")
        batches = batches_of(adopted, here, claim.epoch, claim.host, store.history_limit, standing.entries)
        await store.append(claim, batches)
        await store.save_head(claim, head_of(await read_session(store, adopted.id)))
    finally:
        await store.release(claim)
