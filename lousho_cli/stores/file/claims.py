"""Who may write a log: taking it, without a lock that an append would have to take.

    put     owner.<epoch>.json, exclusively, one above all seen
    look    is anybody there now who was not, or did the owner we judged dead just renew? then out again
    remove  the owner files below ours: from here on their appends are refused
    read    the log: whatever an earlier owner was told is saved is in it by now

An owner looks for its file before and after each append. So what it acknowledged was written
while the file was there, hence before we removed it, hence before we read.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Sequence

from lousho_cli.errors import SessionBusyError, StorageError
from lousho_cli.ports.log_store import Owner
from lousho_cli.stores.bell import ring
from lousho_cli.stores.file import owner_files as owners
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.layout import Layout, storage_error
from lousho_cli.stores.locks import lock_is_free
from lousho_cli.stores.machine import machine_id

_TRIES = 100
_ASIDE = re.compile(r"\.claim-.*\.tmp|.*\.([0-9]+)\.tmp")


def take(layout: Layout, log_id: str, host: str, ttl_ms: int, log_epoch: int) -> FileClaim:
    """Makes this process the owner of a log.

    Args:
        log_epoch: the highest epoch in the log, read before this call.

    Raises:
        SessionBusyError: another owner lives.
        StorageError: the folder can not be written.
    """
    record = owners.own_record(host, ttl_ms)
    for _ in range(_TRIES):
        folder = layout.make_session(log_id)
        try:
            claim = _try_once(folder, log_id, record, log_epoch)
        except (FileNotFoundError, BlockingIOError):
            continue  # the folder was deleted under us, or another claimer just tried whether our file aside is in use
        except OSError as error:
            named = error.filename or folder
            raise storage_error(folder if _ASIDE.fullmatch(os.path.basename(named)) else named, error) from error
        if claim is not None:
            return claim
    raise SessionBusyError(log_id, "one of several owners that all try to take it")


def _try_once(folder: str, log_id: str, record: owners.OwnerRecord, log_epoch: int) -> FileClaim | None:
    aside = f"{folder}/.claim-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    file = owners.create_locked(aside, record)
    kept = False
    try:
        now_ns = os.fstat(file).st_mtime_ns  # the clock of the disk that holds the leases
        seen = owners.epochs_in(folder)
        leased, before = _require_free(folder, log_id, seen[-1], now_ns) if seen else (0, None)
        epoch = max([log_epoch, *seen]) + 1
        try:
            os.link(aside, owners.path_of(folder, epoch))
        except FileExistsError:
            return None
        names = owners.names_in(folder)
        others = [other for other in owners.epochs_among(names) if other != epoch]
        if any(other not in seen for other in others) or (leased and _mtime(folder, seen[-1]) not in (leased, 0)):
            _unlink(owners.path_of(folder, epoch))
            return None
        for other in others:
            _unlink(owners.path_of(folder, other))
        if others:
            names = owners.names_in(folder)  # until its file had gone, the one before may have begun to write something aside
        _sweep(folder, names, epoch, os.path.basename(aside))
        kept = True
        claim = FileClaim(log_id, folder, epoch, record, file)
        if before is not None and before.released:
            claim.synced = before.synced  # the lines alone say less: nothing stands behind the last one of an owner to say it
            claim.wake_at = before.wake_at
        return claim
    finally:
        _unlink(aside)
        if not kept:
            os.close(file)


def _require_free(folder: str, log_id: str, epoch: int, now_ns: int) -> tuple[int, owners.OwnerRecord | None]:
    """Raises unless the owner of ``epoch`` may be replaced.

    Returns:
        the mtime it was judged by, 0 where that played no part; and what it says, None where it is gone.
    """
    path = owners.path_of(folder, epoch)
    mtime = _mtime(folder, epoch)
    record = owners.read_record(path)
    if record is None or owners.proven_gone(path, record):
        return 0, record
    if owners.expired(mtime, record.ttl_ms, now_ns):
        return mtime, record
    raise SessionBusyError(log_id, owners.owner_of(record, epoch).describe())


def _sweep(folder: str, names: Sequence[str], epoch: int, ours: str) -> None:
    """Removes what earlier owners and claimers were writing aside when they died."""
    for name in names:
        aside = _ASIDE.fullmatch(name)
        if aside and name != ours and (int(aside[1]) < epoch if aside[1] else lock_is_free(f"{folder}/{name}")):
            _unlink(f"{folder}/{name}")


def _mtime(folder: str, epoch: int) -> int:
    try:
        return os.stat(owners.path_of(folder, epoch)).st_mtime_ns
    except FileNotFoundError:
        return 0


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return  # another claimer was quicker


def give_back(claim: FileClaim, wake_at: str | None) -> None:
    """Marks the owner file and lets its lock go, so that anybody may claim at once.

    A first claim under which nothing was written, a start that was refused, leaves nothing behind.

    Raises:
        StorageError: it can not be marked, or the disk does not say whose the log is. The lock is free all the same.
    """
    try:
        if claim.holds() and not (wake_at is None and _leave_nothing(claim)):
            _mark(claim, wake_at)
    except OSError as error:
        raise storage_error(claim.owner_path, error) from error
    finally:
        claim.released = True
        with claim.sync_turn:
            claim.close()


def _mark(claim: FileClaim, wake_at: str | None) -> None:
    try:
        owners.mark_released(claim.owner_file, claim.record, wake_at, claim.synced)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            raise
        # The free lock says the same to this machine, and the lease to others.


def _leave_nothing(claim: FileClaim) -> bool:
    """Removes the folder when it holds nothing but this first claim; False when there is more to it.

    Whoever claims or posts meanwhile has a file in it, so it stays, or finds it gone and makes it again. A
    claim that took over from another keeps its folder: the one it replaced, stopped before its first line,
    may still wake, and a number given out again would make it look like an owner.
    """
    if claim.epoch > 1 or claim.begun:
        return False
    try:
        if os.listdir(claim.folder) != [os.path.basename(claim.owner_path)]:
            return False
    except FileNotFoundError:
        return True  # deleted just now
    _unlink(claim.owner_path)
    try:
        os.rmdir(claim.folder)
    except OSError:
        return True  # it is in use again
    return True


def owner_now(layout: Layout, log_id: str, now_ns: int) -> Owner | None:
    """Who drives a log, without writing anything.

    Raises:
        StorageError: the folder can not be read.
    """
    folder = layout.folder(log_id)
    try:
        for epoch in reversed(owners.epochs_in(folder)[-1:]):
            path = owners.path_of(folder, epoch)
            record = owners.read_record(path)
            if record is None or owners.proven_gone(path, record) or owners.expired(_mtime(folder, epoch), record.ttl_ms, now_ns):
                return None
            return owners.owner_of(record, epoch)
    except OSError as error:
        raise storage_error(folder, error) from error
    return None


def ring_owner(folder: str) -> None:
    """Wakes the process that drives a session, where it runs on this machine. It finds what was left in any case."""
    epochs = owners.epochs_in(folder)
    record = owners.read_record(owners.path_of(folder, epochs[-1])) if epochs else None
    if record is not None and not record.released and record.machine == machine_id():
        ring(record.pid)


def is_full_disk(error: StorageError) -> bool:
    """Whether there was no room to write."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)
