"""Trims a log: a new file with one line takes its place by rename.

The new log is written aside under a name that carries our epoch, made durable, and only then do we look
whether the log is still ours. Whoever takes it over removes our owner file first, then what was written
aside, then reads. So if we still were the owner when we looked, either our rename came before it read, or
there is nothing left to rename. A reader and a crash find the old log or the new one.
"""

from __future__ import annotations

import os

import msgspec

from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.records import Batch
from lousho_cli.stores.file.append import settle
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.layout import HEAD, LOG, SNAPSHOT, open_file, storage_error, sync_folder, write_all
from lousho_cli.stores.file.scan import Position
from lousho_cli.stores.file.sync import sync_whole


def replace(claim: FileClaim, base: Batch) -> None:
    """Makes ``base`` the whole log of a claim, which goes on writing behind it.

    Raises:
        OwnershipLostError: another owner has the log; it is as that owner left it.
        StorageError: it could not be written. The log is as it was, unless the disk does not say that the new name
            is durable: then the claim is of no more use.
    """
    settle(claim)
    path = f"{claim.folder}/{LOG}"
    aside = f"{path}.{claim.epoch}.tmp"
    line = encode_line(msgspec.structs.replace(base, sync=base.seq))  # whoever finds it, finds it on the disk
    file = -1
    try:
        file = open_file(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        write_all(file, line)
        sync_whole(file)
        for cache in (HEAD, SNAPSHOT):
            _remove(f"{claim.folder}/{cache}")
        claim.require()
        os.rename(aside, path)
    except OSError as error:
        _give_up(file, aside)
        claim.require()  # what went missing may have been swept away by another owner
        raise storage_error(path, error) from error
    except BaseException:
        _give_up(file, aside)
        raise
    with claim.sync_turn:  # one that was asked for earlier than the newest may run all the same
        _go_on_with(claim, file, len(line), base)
    try:
        sync_folder(claim.folder)
    except OSError as error:
        raise claim.fail(path, error) from error


def _go_on_with(claim: FileClaim, file: int, size: int, base: Batch) -> None:
    old, claim.log_file = claim.log_file, file
    if old >= 0:
        os.close(old)
    claim.begun = True
    claim.synced = base.seq
    claim.place = claim.before = Position(size, base.seq, claim.epoch, base.seq)
    claim.bytes_since_snapshot, claim.snapshot_size = 0, size


def _give_up(file: int, aside: str) -> None:
    if file >= 0:
        os.close(file)
    try:
        _remove(aside)
    except OSError:
        return  # the next owner sweeps it away


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
