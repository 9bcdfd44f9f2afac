"""Processes that die, over a store that does not.

A ``Process`` is a log store as one process sees it. It counts what it writes and, at the point it was given,
is gone: that write and all after it raise ``Dead``, which nothing of the library catches. What was written
but not synced is kept by a kill and lost by a power cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lousho_cli.domain import records as r
from lousho_cli.ports.log_store import LogRead
from lousho_cli.stores.views import ApprovalView, CheckpointView


class Dead(BaseException):
    """The process is gone."""


class Death(NamedTuple):
    """When and how a process dies: in front of its write number ``at``, or behind it; by a kill or a power cut."""

    at: int
    behind: bool = False
    power: bool = False


class Disk:
    """One place where sessions are kept. ``opened`` gives a fresh store object over it, as another process would have."""

    Dead, Death = Dead, Death
    keeps_input_ids = True

    def __init__(self, opened: Callable[[], Any]) -> None:
        self.opened = opened
        self.reader = opened()
        """The store of somebody who only looks, for as long as the disk is there."""
        self.power_cuts = 0

    def process(self, death: Death | None = None) -> Process:
        return Process(self, self.opened(), death)

    async def bury(self, process: Process) -> None:
        """Ends a process: the system frees what it held."""
        if process.dead and process.death is not None:
            if process.death.power:
                self.power_cuts += 1
            else:
                await process.keep_unsynced()
        for claim in process.claims:
            await process.inner.release(claim)
        _close(process.inner)

    def remove(self) -> None:
        """Nobody looks any more."""
        _close(self.reader)


def _close(store: Any) -> None:
    if hasattr(store, "close"):
        store.close()


class Process:
    """A log store for one process, over one that outlives it."""

    def __init__(self, disk: Disk, inner: Any, death: Death | None) -> None:
        self.disk, self.inner, self.death = disk, inner, death
        self.dead = False
        self.claims: list[Any] = []
        self._writes = 0
        self._unsynced: list[tuple[Any, r.Batch]] = []
        self.checkpoints, self.approvals = CheckpointView(self), ApprovalView(self)

    def __getattr__(self, name: str) -> Any:
        if self.dead:
            raise Dead
        return getattr(self.inner, name)

    def _write(self) -> bool:
        """Counts a write; True when the process dies behind it, and raises where it dies in front."""
        if self.dead:
            raise Dead
        self._writes += 1
        if self.death is None or self._writes < self.death.at:
            return False
        self.dead = True
        if not self.death.behind:
            raise Dead
        return True

    async def append(self, claim: Any, batches: Sequence[r.Batch], *, durable: bool = True) -> None:
        ready = []
        for batch in batches:
            try:
                last = self._write()
            except Dead:
                await self._put(claim, ready, durable=durable)
                raise
            ready.append(batch)
            if last:
                await self._put(claim, ready, durable=durable)
                raise Dead
        await self._put(claim, ready, durable=durable)

    async def _put(self, claim: Any, batches: Sequence[r.Batch], *, durable: bool) -> None:
        self._unsynced += [(claim, batch) for batch in batches]
        if durable:
            await self.keep_unsynced()

    async def keep_unsynced(self) -> None:
        """What was written is on the disk."""
        while self._unsynced:
            claim, _ = self._unsynced[0]
            ready = [batch for mine, batch in self._unsynced if mine is claim]
            self._unsynced = [(other, batch) for other, batch in self._unsynced if other is not claim]
            await self.inner.append(claim, ready)

    async def flush(self, claim: Any) -> None:
        last = self._write()
        await self.keep_unsynced()
        await self.inner.flush(claim)
        if last:
            raise Dead

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        if self.dead:
            raise Dead
        found = await self.inner.read(log_id, after)
        mine = tuple(batch for claim, batch in self._unsynced if claim.log_id == log_id and batch.seq > max(after, found.head))
        return LogRead((*found.batches, *mine), mine[-1].seq, mine[-1].epoch) if mine else found

    async def claim(self, log_id: str, host: str, *rest: Any) -> Any:
        last = self._write()
        claim = await self.inner.claim(log_id, host, *rest)
        self.claims.append(claim)
        if last:
            raise Dead
        return claim


def _writing(name: str) -> Any:
    async def write(self: Process, *args: Any, **options: Any) -> Any:
        last = self._write()
        value = await getattr(self.inner, name)(*args, **options)
        if last:
            raise Dead
        return value

    return write


for _name in ("release", "save_snapshot", "save_head", "post", "discard", "delete", "trim"):
    setattr(Process, _name, _writing(_name))


def memory_disk(place: Path) -> Disk:
    """The memory store is its own disk."""
    from lousho_cli.stores.memory import MemoryStore

    store = MemoryStore(any_id=True)
    return Disk(lambda: store)


def file_disk(place: Path) -> Disk:
    from lousho_cli.stores.file.store import FileStore

    return Disk(lambda: FileStore(place / ".lousho"))


def sqlite_disk(place: Path) -> Disk:
    from lousho_cli.stores.sqlite.store import SqliteStore

    return Disk(lambda: SqliteStore(place / "sessions.db"))


DISKS: dict[str, Callable[[Path], Disk]] = {"memory": memory_disk, "file": file_disk, "sqlite": sqlite_disk}
