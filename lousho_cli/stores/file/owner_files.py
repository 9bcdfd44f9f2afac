"""``owner.<epoch>.json``: who drives a session. Its mtime is the lease, a flock on it the proof of life.

The file is made aside, locked there and then linked in, so nobody ever sees it unlocked while
its owner lives. A lock dies with its process, whatever killed it; a process id is never trusted.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.times import stamp
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, Owner
from lousho_cli.stores.file.layout import open_file, read_file, write_all
from lousho_cli.stores.locks import lock_is_free
from lousho_cli.stores.machine import boot_id, machine_id

_NAME = re.compile(r"owner\.([1-9][0-9]*)\.json")
_SIZE = 1024  # written in place when given back, so that the length never changes


class OwnerRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an owner file says. ``synced``: how far the log was on the disk when it was given back."""

    host: str = "an unknown host"
    machine: str = ""
    boot: str = ""
    pid: int = 0
    since: str = ""
    ttl_ms: int = DEFAULT_TTL_MS
    released: bool = False
    wake_at: str | None = None
    synced: int = 0


_decoder = msgspec.json.Decoder(OwnerRecord)


def own_record(host: str, ttl_ms: int) -> OwnerRecord:
    """The record of this process."""
    now = stamp(datetime.now(UTC))
    return OwnerRecord(host, machine_id(), boot_id(), os.getpid(), now, ttl_ms)


def path_of(folder: str, epoch: int) -> str:
    return f"{folder}/owner.{epoch}.json"


def epochs_in(folder: str) -> list[int]:
    """The epochs of the owner files of a session, ascending; [] when there is no folder."""
    return epochs_among(names_in(folder))


def names_in(folder: str) -> list[str]:
    """What the folder of a session holds; [] when there is none."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def epochs_among(names: Iterable[str]) -> list[int]:
    """The epochs of the owner files among some names, ascending."""
    return sorted(int(found[1]) for found in map(_NAME.fullmatch, names) if found)


def create_locked(path: str, record: OwnerRecord) -> int:
    """Writes a record to a new file and locks it; gives the descriptor that holds the lock."""
    file = open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_all(file, encode_value(record).ljust(_SIZE) + b"\n")
    except OSError:
        os.close(file)
        os.unlink(path)
        raise
    return file


def mark_released(file: int, record: OwnerRecord, wake_at: str | None, synced: int) -> None:
    """Says in place that the session was given back."""
    given_back = msgspec.structs.replace(record, released=True, wake_at=wake_at, synced=synced)
    os.pwrite(file, encode_value(given_back).ljust(_SIZE) + b"\n", 0)


def read_record(path: str) -> OwnerRecord | None:
    """The record, None when the file is gone. One that a power cut left unreadable names nobody."""
    data = read_file(path)
    if data is None:
        return None
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        return OwnerRecord()


def synced_by_owner(folder: str) -> int:
    """How far the log was on the disk when its last owner gave it back; 0 where it is not known to have.

    Raises:
        OSError: the folder can not be read.
    """
    epochs = epochs_in(folder)
    record = read_record(path_of(folder, epochs[-1])) if epochs else None
    return record.synced if record is not None and record.released else 0


def proven_gone(path: str, record: OwnerRecord) -> bool:
    """Whether the owner gave back, or is dead for certain: its lock is free, or its machine started anew."""
    if record.released:
        return True
    if record.machine != machine_id():
        return False
    return record.boot != boot_id() or lock_is_free(path)


def expired(mtime_ns: int, ttl_ms: int, now_ns: int) -> bool:
    """Whether a lease last renewed at ``mtime_ns`` is over at ``now_ns``, both by the clock of the store's disk."""
    return now_ns >= mtime_ns + ttl_ms * 1_000_000


def owner_of(record: OwnerRecord, epoch: int) -> Owner:
    return Owner(record.host, record.pid, record.since, epoch)
