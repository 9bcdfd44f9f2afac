"""``head.json`` and the list of all sessions.

A head says how long the log was that it covers. While the log still has that length, the head is
all a list needs; otherwise the tail behind it is read. So a stale head never hides anything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

import msgspec

from lousho_cli.core.heads import advance_all, head_of
from lousho_cli.domain.heads import Head
from lousho_cli.domain.records import Batch
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import Heads
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.layout import HEAD, LOG, Layout, id_of, name_of, read_file, storage_error
from lousho_cli.stores.file.reading import position_behind, require_any, scan_file
from lousho_cli.stores.file.scan import START, Position, Scan
from lousho_cli.stores.file.sealed import replace_sealed, unseal


class HeadFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A head, the length of the log it covers, and the place behind its seq."""

    size: int
    place: Position
    head: Head
    wake_at: str | None = None


_PIECE = 65536
_decoder = msgspec.json.Decoder(HeadFile)


def save(claim: FileClaim, head: Head, wake_at: str | None = None) -> None:
    """Replaces the head of a log; does nothing when it does not cover the log as this owner wrote it.

    Raises:
        OSError: it could not be written; the old one stays.
    """
    path = f"{claim.folder}/{LOG}"
    if head.seq != claim.head or not head.seq:
        return
    size = os.stat(path).st_size
    place = position_behind(path, claim.place)
    if place is not None and claim.holds():
        replace_sealed(f"{claim.folder}/{HEAD}", HeadFile(size, place, head, wake_at), claim.epoch)


def load(folder: str) -> HeadFile | None:
    """What ``head.json`` holds; None when it is of no use."""
    try:
        data = read_file(f"{folder}/{HEAD}")
    except OSError:
        return None  # a cache that can not be read is as good as none
    return unseal(data, _decoder) if data else None


def list_all(layout: Layout) -> Heads:
    """The heads of a store.

    Raises:
        StorageError: the folder of the sessions can not be read.
    """
    heads: list[Head] = []
    damaged: list[tuple[str, str]] = []
    names = layout.names()
    here = _open(layout) if names else None
    if here is None:
        return Heads()
    try:
        for name in names:
            if name.startswith("."):
                continue
            session_id = name if name.isascii() and name.islower() and "^" not in name else id_of(name)
            try:
                head = _one(here, f"{layout.sessions}/{name}", name)
            except StorageError as error:
                damaged.append((session_id or name, error.detail))
                continue
            if head is not None and session_id is None:
                damaged.append((name, f"{layout.sessions}/{name}: not the folder name of a session id"))
            elif head is not None and session_id is not None:
                heads.append(msgspec.structs.replace(head, id=session_id))
    finally:
        os.close(here)
    return Heads(tuple(heads), tuple(damaged))


def one(layout: Layout, session_id: str) -> Head | None:
    """The head of one session, None for none.

    Raises:
        StorageError: its log can not be read, has a hole, or holds nothing valid.
    """
    folder = layout.folder(session_id)
    here = _open(layout)
    if here is None:
        return None
    try:
        head = _one(here, folder, name_of(session_id))
    finally:
        os.close(here)
    return None if head is None else msgspec.structs.replace(head, id=session_id)


def _open(layout: Layout) -> int | None:
    """The folder of the sessions, opened; None when there is none.

    Raises:
        StorageError: it can not be opened.
    """
    try:
        return os.open(layout.sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(layout.sessions, error) from error


def _one(here: int, folder: str, name: str) -> Head | None:
    try:
        info = os.stat(f"{name}/{LOG}", dir_fd=here)
    except FileNotFoundError:
        return None  # a folder with posts only, or one that was deleted just now
    except OSError as error:
        raise StorageError(f"{folder}/{LOG}: {(error.strerror or '').lower()}") from error
    if not stat.S_ISREG(info.st_mode):
        raise StorageError(f"{folder}/{LOG}: not a file")
    stored = _stored(here, name)
    if stored is not None and stored.size == info.st_size:
        head = stored.head
        return head if stored.wake_at is None else msgspec.structs.replace(head, wake_at=stored.wake_at)
    return current(folder, stored)


def _stored(here: int, name: str) -> HeadFile | None:
    try:
        file = os.open(f"{name}/{HEAD}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=here)
    except OSError:
        return None
    try:
        data = os.read(file, _PIECE)
        while len(data) % _PIECE == 0 and (more := os.read(file, _PIECE)):
            data += more
    except OSError:
        return None
    finally:
        os.close(file)
    return unseal(data, _decoder)


def current(folder: str, stored: HeadFile | None) -> Head | None:
    """The head of the log as it is now, from what was stored and the tail behind it; None for no log.

    Raises:
        StorageError: the log can not be read, has a hole, or holds nothing valid.
    """
    path = f"{folder}/{LOG}"
    try:
        start = stored.place if stored else START
        found = scan_file(path, start)[0]
        if stored and found.start == start and not found.rewound:
            head = advance_all(stored.head, found.batches)
            if head is not None:
                return _checked(head, found, path)
        if found.start != START:
            found = scan_file(path, START)[0]
    except OSError as error:
        raise StorageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    require_any(found, path)
    return _checked(whole(found.batches), found, path) if found.head else None


def whole(batches: Sequence[Batch]) -> Head:
    """The head of all batches of a log."""
    head = advance_all(Head(), batches)
    if head is not None:
        return head
    from lousho_cli.core.fold import fold  # only where the transcript itself decides

    return head_of(fold(batches))


def _checked(head: Head, found: Scan, path: str) -> Head:
    if found.holes:
        hole = found.holes[0]
        raise StorageError(f"{path}: records {hole.first} to {hole.last} are {hole.detail}")
    return head
