"""How batches land: look for our owner file, one write, one sync, look again."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.errors import StorageError
from lousho_cli.stores.file import sync
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.layout import LOG, open_file, sync_folder
from lousho_cli.stores.file.scan import Position


def write(claim: FileClaim, batches: Sequence[Batch]) -> None:
    """Writes batches with a single call, so that a killed process leaves whole lines.

    Raises:
        StorageError: it could not be written whole. The claim is then of no more use: what a
            failed write left is closed by the newline that begins the next owner's first line.
    """
    path = f"{claim.folder}/{LOG}"
    try:
        if claim.log_file < 0:
            claim.log_file = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            # The name may have become that of another log, when this one was deleted since we last looked.
            claim.require()
        data = _lines(claim, batches)
        written = os.write(claim.log_file, data)
        # Added up, it may fall short where an owner that was replaced wrote late: who reads on from there passes over that.
        end = claim.place.offset + written if claim.begun else os.lseek(claim.log_file, 0, os.SEEK_CUR)
    except OSError as error:
        raise claim.fail(path, error) from error
    if written != len(data):
        raise claim.fail(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    claim.begun = True
    claim.bytes_since_snapshot += written
    claim.before = claim.place
    claim.place = Position(end, batches[-1].seq, claim.epoch, claim.synced)


def _lines(claim: FileClaim, batches: Sequence[Batch]) -> bytes:
    lines = []
    if not claim.begun and os.fstat(claim.log_file).st_size:
        lines.append(b"\n")  # closes a line that an earlier owner left torn
    for batch in batches:
        if claim.synced != batch.seq - 1:
            batch = msgspec.structs.replace(batch, sync=claim.synced)
        lines.append(encode_line(batch))
    return b"".join(lines)


def require_next(claim: FileClaim, batches: Sequence[Batch]) -> None:
    """Refuses batches that do not follow the log, or are of another epoch.

    Raises:
        StorageError: they do not.
    """
    for expected, batch in enumerate(batches, claim.head + 1):
        if batch.seq != expected or batch.epoch != claim.epoch:
            raise StorageError(
                f"batch {batch.seq} of epoch {batch.epoch} does not follow the log of session {claim.log_id}, "
                f"which is at {expected - 1} in epoch {claim.epoch}"
            )


async def make_durable(claim: FileClaim, claims: int) -> None:
    """Syncs what this claim wrote, here or on a thread.

    Raises:
        StorageError: the sync failed. Nobody knows what is on the disk then, so the claim is of no more use.
    """
    if sync.is_quick(claims):
        sync_now(claim)
        return
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        sync_now(claim)  # driven without an event loop, there is nobody to hold up
        return
    claim.syncing = sync.syncs().begin(partial(sync_now, claim), loop)
    await claim.syncing.future


def sync_now(claim: FileClaim) -> None:
    """Syncs right here. The first of a session makes the names durable too: file, folder, parent.

    Raises:
        StorageError: see ``make_durable``.
    """
    # In turn: the system tells of a failed sync once, and whoever synced beside it would hear that all is well.
    with claim.sync_turn:
        upto = claim.head
        if claim.failure is not None:
            raise claim.failure
        if claim.log_file < 0 or upto <= claim.synced:
            return
        try:
            if claim.synced == 0:
                sync.sync_whole(claim.log_file)
                sync_folder(claim.folder)
                sync_folder(os.path.dirname(claim.folder))
            else:
                sync.sync_data(claim.log_file)
        except OSError as error:
            raise claim.fail(f"{claim.folder}/{LOG}", error) from error
        claim.synced = upto


def settle(claim: FileClaim) -> None:
    """Waits for the syncs that still run: the newest finds done what was asked for before it, or leaves nothing to do."""
    if claim.syncing is not None:
        sync.syncs().wait(claim.syncing)


def close_log(claim: FileClaim) -> None:
    """Waits for the syncs that still run and syncs what is left, before the claim is given back.

    What an earlier owner wrote last and nobody is known to have synced is left over too: then all of the log is
    on the disk, and the owner file says so to who reads it.

    Raises:
        StorageError: what was written last is perhaps not durable.
    """
    settle(claim)
    if claim.failure is not None or claim.lost:
        return
    if claim.log_file < 0 and claim.synced < claim.head:
        with suppress(FileNotFoundError):  # it was deleted just now
            claim.log_file = open_file(f"{claim.folder}/{LOG}", os.O_RDONLY)
    sync_now(claim)
