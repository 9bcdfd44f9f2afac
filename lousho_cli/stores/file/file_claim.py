"""The right to write one log, as this process holds it, and the state of its one writer."""

from __future__ import annotations

import os
import threading

from lousho_cli.errors import StorageError
from lousho_cli.stores.file.layout import storage_error
from lousho_cli.stores.file.owner_files import OwnerRecord, path_of
from lousho_cli.stores.file.scan import Position
from lousho_cli.stores.file.sync import Sync
from lousho_cli.stores.lease import Lease, Terms
from lousho_cli.stores.machine import steady


class FileClaim(Lease):
    """One owner file, locked, and the open log behind it.

    place: behind the last line written or read; ``before`` the one before the newest write.
    syncing: the newest sync that was left to another thread; ``sync_turn`` lets one run at a time, and nothing be closed under it.
    wake_at: the wake that the owner before left, until this one gives the log back.
    """

    def __init__(self, log_id: str, folder: str, epoch: int, record: OwnerRecord, owner_file: int) -> None:
        self.owner_file = owner_file
        self.log_file = -1
        super().__init__(Terms(log_id, record.host, record.ttl_ms, None, steady()), epoch)
        self.wake_at: str | None = None
        self.folder = folder
        self.record = record
        self.owner_path = path_of(folder, epoch)
        info = os.fstat(owner_file)
        self._inode = (info.st_dev, info.st_ino)
        self.place = Position()
        self.before = Position()
        self.begun = False
        self.syncing: Sync | None = None
        self.sync_turn = threading.Lock()

    @property
    def head(self) -> int:
        """The last seq of the log as this owner knows it."""
        return self.place.head

    def holds(self) -> bool:
        """Whether our owner file is still there, the very file we made. Once lost is lost.

        Raises:
            OSError: the disk does not say.
        """
        if not self.lost:
            try:
                info = os.stat(self.owner_path)
                self.lost = (info.st_dev, info.st_ino) != self._inode
            except (FileNotFoundError, NotADirectoryError):
                self.lost = True
        return not self.lost

    def require(self) -> None:
        """Lets only an owner pass whose writer is alive.

        Raises:
            OwnershipLostError: another owner has the log, or this one gave it back.
            StorageError: an earlier write failed, so only a new claim may write.
        """
        if self.failure is not None:
            raise self.failure
        try:
            ours = not self.released and self.holds()
        except OSError as error:
            raise storage_error(self.owner_path, error) from error
        if not ours:
            raise self.gone()

    def fail(self, path: str, error: OSError) -> StorageError:
        """Notes that this writer is dead: what the disk holds of its last write is not known."""
        failed = storage_error(path, error)
        self.failure = failed
        return failed

    def close(self) -> None:
        """Closes what is open; the lock goes with it."""
        for file in (self.log_file, self.owner_file):
            if file >= 0:
                os.close(file)
        self.log_file = self.owner_file = -1

    def __del__(self) -> None:
        self.close()
