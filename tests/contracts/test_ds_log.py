"""What a session log promises to a host, over every store: positions, whole batches, one writer, what a failure leaves."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import OwnershipLostError, StorageError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.log_store import LogStore
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite import appending
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


async def seqs(store: LogStore, after: int = 0) -> list[int]:
    return [one.seq for one in (await store.read("t", after=after)).batches]


async def test_ds_001_positions_are_dense_from_one(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    for seq in (1, 2, 3):
        await store.append(claim, [batch(seq)])
    assert await seqs(store) == [1, 2, 3]


@pytest.mark.parametrize("taken", [1, 2])
async def test_ds_002_a_taken_position_is_a_conflict(store: LogStore, batch: MakeBatch, taken: int) -> None:
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1), batch(2)])
    with pytest.raises(StorageError):
        await store.append(claim, [batch(taken, 1, r.Note("other", "text"))])
    assert [one.records for one in (await store.read("t")).batches] == [batch(1).records, batch(2).records]


async def test_ds_003_a_gap_is_a_conflict(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1)])
    with pytest.raises(StorageError):
        await store.append(claim, [batch(3)])
    assert await seqs(store) == [1]


async def test_ds_004_of_batches_that_fail_together_none_is_seen(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1)])
    with pytest.raises(StorageError):
        await store.append(claim, [batch(2), batch(2)])
    assert await seqs(store) == [1]
    assert (await store.head("t")).seq == 1  # type: ignore[union-attr]


async def test_ds_005_an_empty_append_writes_nothing(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    await store.append(claim, [])
    assert await seqs(store) == []
    await store.append(claim, [batch(1)])
    await store.append(claim, [])
    assert await seqs(store) == [1]


async def test_ds_006_a_read_gives_what_stands_behind_in_order(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(seq) for seq in (1, 2, 3, 4)])
    assert await seqs(store, after=2) == [3, 4]
    assert await seqs(store, after=4) == []
    assert (await store.read("nobody")).batches == ()


async def test_ds_007_what_was_read_can_not_change_the_log(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1, 1, r.BusinessState({"list": [1]}))])
    read: Any = (await store.read("t")).batches[0].records[0]
    read.value["list"].append(2)
    again: Any = (await store.read("t")).batches[0].records[0]
    assert again.value == {"list": [1]}


async def test_ds_008_who_watches_hears_of_each_append_until_he_stops(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("t", "here")
    for seq in (1, 2):
        watching = asyncio.create_task(store.watch("t", seq - 1, 10_000))
        await asyncio.sleep(0)
        await store.append(claim, [batch(seq)])
        assert await watching is True
    gone = asyncio.create_task(store.watch("t", 2, 10_000))
    await asyncio.sleep(0)
    gone.cancel()
    await store.append(claim, [batch(3)])
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_ds_009_of_two_processes_at_one_position_one_lands(shared: tuple[LogStore, Callable[[], Any]], batch: MakeBatch) -> None:
    store, start = shared
    other = start()
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1)])
    assert other.ask("claim", log="t")["error"] == "SessionBusyError"
    await store.release(claim)
    assert other.ask("claim", log="t") == claim.epoch + 1
    with pytest.raises(OwnershipLostError):
        await store.append(claim, [batch(2)])
    assert other.ask("append", text="theirs") == 2
    assert [one.records for one in (await store.read("t")).batches][1:] == [(r.Note("other", "theirs"),)]


@pytest.mark.parametrize("batches", [1, 2])
async def test_ds_013_an_append_that_failed_and_landed_counts(tmp_path: Any, batch: MakeBatch, batches: int) -> None:
    """A database is read back; on files a sync that failed is a failed append (DS 14), as nobody can tell what is on the disk."""
    store = SqliteStore(tmp_path / "lousho.db")
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1)])
    real = store.database.writer()

    class Lying:
        def execute(self, sql: str, *arguments: Any) -> Any:
            done = real.execute(sql, *arguments)
            if sql == ("COMMIT" if batches > 1 else appending._APPEND):
                store.database._writer = real
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR, "SQLITE_IOERR"
                raise error
            return done

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    store.database._writer = Lying()  # type: ignore[assignment]
    await store.append(claim, [batch(2 + n) for n in range(batches)])
    await store.append(claim, [batch(2 + batches)])
    assert await seqs(store) == list(range(1, 3 + batches))
    await store.release(claim)
    store.close()


class Failing:
    """A store whose next append fails with an error that says what a disk says."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self.fails: Exception | None = None
        self.tried = 0

    async def append(self, claim: Any, batches: Any, *, durable: bool = True) -> None:
        self.tried += 1
        if self.fails is not None:
            raise self.fails
        await self._store.append(claim, batches, durable=durable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_ds_014_a_failed_append_is_the_error_of_its_writer(tmp_path: Any, batch: MakeBatch) -> None:
    """No second try: what a failed sync left on the disk is unknown, so the writer is dead until the log is claimed anew."""
    store = FileStore(tmp_path / ".lousho")
    claim = await store.claim("t", "here")
    await store.append(claim, [batch(1)])
    reader, writer = os.pipe()
    kept = os.dup(claim.log_file)
    os.dup2(writer, claim.log_file)  # it takes bytes and can not be synced
    with pytest.raises(StorageError) as caught:
        await store.append(claim, [batch(2)])
    assert caught.value.code == "LOUSHO_STORAGE_FAILED"
    os.dup2(kept, claim.log_file)
    for file in (reader, writer, kept):
        os.close(file)
    with pytest.raises(StorageError):
        await store.append(claim, [batch(2)])
    await store.release(claim)
    again = await store.claim("t", "here")
    await store.append(again, [batch(2, again.epoch)])
    assert await seqs(store) == [1, 2]


async def test_ds_015_after_a_failed_write_every_later_one_raises(store: LogStore) -> None:
    failing: Any = Failing(store)
    log = await SessionLog.open(failing, "t", "here", SYSTEM_CLOCK)
    await log.record(r.Note("n", "1"))
    failing.fails = StorageError("the disk is full")
    with pytest.raises(StorageError):
        await log.record(r.Note("n", "2"))
    failing.fails, tried = None, failing.tried
    with pytest.raises(StorageError):
        await log.record(r.Note("n", "3"))
    assert failing.tried == tried + 1  # it was sent what stands behind the lost one, and the store refuses that
    await log.abandon()
    assert await seqs(store) == [1]


async def test_ds_016_overlapping_appends_stand_in_the_order_of_their_calls(store: LogStore) -> None:
    log = await SessionLog.open(store, "t", "here", SYSTEM_CLOCK)
    await asyncio.gather(*(log.record(r.Note("n", str(n))) for n in range(30)))
    await log.close()
    batches = (await store.read("t")).batches
    assert [one.seq for one in batches] == list(range(1, 31))
    notes = [record for one in batches for record in one.records if isinstance(record, r.Note)]
    assert [note.text for note in notes] == [str(n) for n in range(30)]


async def test_posts_of_every_kind_wait_in_every_store(store: LogStore) -> None:
    kinds: tuple[Any, ...] = ("input", "answer", "abort", "cancel", "move", "reset", "append", "setting", "command")
    for kind in kinds:
        await store.post("t", Post(kind, kind, "2026-01-01T00:00:00.000Z", body={"said": kind}))
    assert [post.kind for post in await store.inbox("t")] == list(kinds)
