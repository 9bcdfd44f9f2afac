"""Reads logs, and reads on from where it was before.

A place remembered is only used while the bytes before it are still the same (``Position.mark``),
so a log that was trimmed, repaired or put back from a copy is simply read from its beginning.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from lousho_cli.domain.codec import LINE_BEGINS
from lousho_cli.domain.records import Batch
from lousho_cli.errors import DamagedLogError
from lousho_cli.ports.log_store import LogRead
from lousho_cli.stores.file.layout import HEAD, Layout, open_to_read, read_from, storage_error
from lousho_cli.stores.file.owner_files import synced_by_owner
from lousho_cli.stores.file.scan import MARK_BYTES, START, Position, Scan, mark_of, scan


class LogReader:
    """The logs of one store, as readers see them. Never writes."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._places: dict[str, Position] = {}
        self._kept: dict[str, Scan] = {}

    def read(self, log_id: str, after: int) -> LogRead:
        """The valid batches behind ``after``; reads only what is new where it can.

        Raises:
            StorageError: the log can not be read.
        """
        found = self._kept.pop(log_id, None)
        if found is None or found.start.head > after or found.size != self.size(log_id):
            place = self._places.get(log_id, START)
            found = self.scan(log_id, place if place.head <= after else START)
        return LogRead(behind(found, after), found.head, found.epoch, tuple(found.holes), self._synced(log_id, found))

    def _synced(self, log_id: str, found: Scan) -> int | None:
        """How far a log is known to be on the disk, None for all of it: its lines say it, and the owner that gave it back."""
        synced = found.synced
        if synced < found.head:
            with suppress(OSError):
                synced = max(synced, synced_by_owner(self._layout.folder(log_id)))
        return synced if synced < found.head else None

    def scan(self, log_id: str, start: Position = START) -> Scan:
        """Scans a log from ``start``, or from its beginning where that place is no longer good.

        Raises:
            StorageError: the log can not be read.
        """
        path = self._layout.log(log_id)
        try:
            found, place = scan_file(path, start)
        except OSError as error:
            raise storage_error(path, error) from error
        if place is not None:
            self._places[log_id] = place
        return found

    def scan_known(self, log_id: str) -> Scan:
        """Scans what this process has not read yet."""
        return self.scan(log_id, self._places.get(log_id, START))

    def require_any(self, log_id: str, found: Scan) -> None:
        """Refuses a log of which nothing can be read, as the function below does.

        Raises:
            DamagedLogError, StorageError: it is such a log, or can not be read.
        """
        path = self._layout.log(log_id)
        try:
            require_any(found, path)
        except OSError as error:
            raise storage_error(path, error) from error

    def keep(self, log_id: str, found: Scan) -> None:
        """Keeps a scan for the read that follows at once."""
        self._kept[log_id] = found

    def drop(self, log_id: str) -> None:
        """Forgets the kept scan: the log is being written."""
        self._kept.pop(log_id, None)

    def forget(self, log_id: str) -> None:
        """Forgets all about a log: it was deleted or replaced."""
        self._kept.pop(log_id, None)
        self._places.pop(log_id, None)

    def size(self, log_id: str) -> int:
        """The length of a log in bytes, 0 when there is none."""
        return self.stamp(log_id)[1]

    def stamp(self, log_id: str) -> tuple[int, int]:
        """Which file a log is, and its length in bytes: another pair once it was written to, trimmed or repaired."""
        path = self._layout.log(log_id)
        try:
            info = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return 0, 0
        except OSError as error:
            raise storage_error(path, error) from error
        return info.st_ino, info.st_size


def scan_file(path: str, start: Position) -> tuple[Scan, Position | None]:
    """Scans a file, and says from where it may be read on; None where it has holes or nothing.

    Raises:
        OSError: it can not be read.
    """
    try:
        file = open_to_read(path)
    except (FileNotFoundError, NotADirectoryError):
        return Scan(START), None
    try:
        begin = max(start.offset - MARK_BYTES, 0)
        data = read_from(file, begin)
        if start.offset and mark_of(data[: start.offset - begin]) != start.mark:
            begin, start = 0, START
            data = read_from(file, 0)
        found = scan(data[start.offset - begin :] if start.offset else data, start)
        if found.rewound:
            data, begin = read_from(file, 0), 0
            found = scan(data)
    finally:
        os.close(file)
    if found.holes or not found.head:
        return found, None
    end = found.offset - begin
    return found, msgspec.structs.replace(found.place, mark=mark_of(data[:end]))


def behind(found: Scan, after: int) -> tuple[Batch, ...]:
    """The batches of a scan behind a seq."""
    batches = found.batches
    if not batches or batches[0].seq > after:
        return tuple(batches)
    return tuple(batch for batch in batches if batch.seq > after)


def position_behind(path: str, place: Position) -> Position | None:
    """``place`` with its mark taken from the file, None when the file is shorter.

    Raises:
        OSError: it can not be read.
    """
    file = open_to_read(path)
    try:
        begin = max(place.offset - MARK_BYTES, 0)
        tail = os.pread(file, place.offset - begin, begin)
    finally:
        os.close(file)
    if len(tail) != place.offset - begin:
        return None
    return msgspec.structs.replace(place, mark=mark_of(tail))


def require_any(found: Scan, path: str) -> None:
    """Refuses a log in which nothing is valid although bytes are there, unless they are a first line that was torn.

    Such a line was never acknowledged, so there is no session yet.

    Raises:
        DamagedLogError: it is such a log.
        OSError: it can not be read.
    """
    if found.size and not found.head and not (len(found.voids) == 1 and _begins_as_ours(path)):
        raise DamagedLogError(f"{path}: no valid record in {found.size} bytes", hint="See what is there with: lousho fsck")


_FIRST = LINE_BEGINS + b'????????","seq":1,'


def _begins_as_ours(path: str) -> bool:
    """Whether a file begins as the first line of a log does, or as what a power cut may leave of one: with NULs in it.

    A line that begins a log at a higher seq is the base of one that was trimmed. It was durable before it had its
    name, so it is not torn but damaged. Where its beginning is lost, a head beside it says that something was.
    """
    file = open_to_read(path)
    try:
        data = os.pread(file, MARK_BYTES, 0)
    finally:
        os.close(file)
    begins = data.partition(b"\0")[0]
    if not begins:
        return not os.path.exists(os.path.join(os.path.dirname(path), HEAD))
    return all(wanted in (b"?"[0], byte) for wanted, byte in zip(_FIRST, begins, strict=False))
