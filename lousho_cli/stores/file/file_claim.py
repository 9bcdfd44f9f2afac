"""The right to write one log, as this process holds it, and the state of its one writer."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from lousho_cli.core.lease import renewal_s
from lousho_cli.errors import OwnershipLostError, StorageError
from lousho_cli.stores.file.layout import storage_error
from lousho_cli.stores.file.owner_files import OwnerRecord, path_of
from lousho_cli.stores.file.scan import Position
from lousho_cli.stores.machine import steady

if TYPE_CHECKING:
    from concurrent.futures import Future

_MARGIN = 0.9  # an owner stops this early, so that its clock and the disk's need not agree to the millisecond


class FileClaim:
    """One owner file, locked, and the open log behind it.

    place: behind the last line written or read; ``before`` the one before the newest write.
    synced: the last seq known to be on the disk. failure: why this writer is dead, None while it lives.
    syncing: the syncs that run on other threads; ``sync_turn`` lets one run at a time.
    bytes_since_snapshot, snapshot_size: what tells whether a snapshot is due.
    renew_s: seconds between two renewals. wake_at: the wake that the owner before left, until this one gives the log back.
    """

    def __init__(self, log_id: str, folder: str, epoch: int, record: OwnerRecord, owner_file: int) -> None:
        self.renew_s = renewal_s(record.ttl_ms, None)
        self.wake_at: str | None = None
        self.owner_file = owner_file
        self.log_file = -1
        self.log_id = log_id
        self.folder = folder
        self.epoch = epoch
        self.record = record
        self.owner_path = path_of(folder, epoch)
        info = os.fstat(owner_file)
        self._inode = (info.st_dev, info.st_ino)
        self.place = Position()
        self.before = Position()
        self.begun = False
        self.synced = 0
        self.bytes_since_snapshot = 0
        self.snapshot_size = 0
        self.failure: StorageError | None = None
        self.lost = False
        self.released = False
        self.syncing: set[Future[None]] = set()
        self.sync_turn = threading.Lock()
        self._deadline = 0.0
        self.extend(steady())

    @property
    def host(self) -> str:
        return self.record.host

    @property
    def head(self) -> int:
        """The last seq of the log as this owner knows it."""
        return self.place.head

    @property
    def overdue(self) -> bool:
        """Whether this owner could not renew in time and must start no new effect."""
        return self.lost or self.released or steady() >= self._deadline

    def extend(self, renewed_at: float) -> None:
        """Moves the deadline: the lease was renewed not before ``renewed_at``."""
        self._deadline = renewed_at + self.record.ttl_ms / 1000 * _MARGIN

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
            raise OwnershipLostError(self.log_id, "another owner", hint="Look at what it did with: lousho show " + self.log_id)

    def fail(self, path: str, error: OSError) -> StorageError:
        """Notes that this writer is dead: what the disk holds of its last write is not known."""
        self.failure = storage_error(path, error)
        return self.failure

    def close(self) -> None:
        """Closes what is open; the lock goes with it."""
        for file in (self.log_file, self.owner_file):
            if file >= 0:
                os.close(file)
        self.log_file = self.owner_file = -1

    def __del__(self) -> None:
        self.close()
