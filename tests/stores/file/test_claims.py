"""Owner files: what proves an owner dead, what does not, and what a claim leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import DamagedLogError, OwnershipLostError, SessionBusyError, StorageError
from lousho_cli.stores import machine
from lousho_cli.stores.file.keeper import keeper, renew
from lousho_cli.stores.file.owner_files import OwnerRecord, create_locked
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


def forge(place: Path, **fields: object) -> Path:
    """An owner file that no process of this machine holds."""
    folder = place / "sessions/trip"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "owner.7.json"
    path.write_text(json.dumps({"host": "far", "machine": "elsewhere", "boot": "b", "pid": 4, "since": "then", "ttl_ms": 60_000} | fields))
    return path


async def test_an_owner_on_another_machine_keeps_its_lease(store: FileStore, place: Path) -> None:
    path = forge(place)
    with pytest.raises(SessionBusyError, match="far, pid 4, since then"):
        await store.claim("trip", "here")
    os.utime(path, (time.time() - 59, time.time() - 59))
    with pytest.raises(SessionBusyError):
        await store.claim("trip", "here")
    os.utime(path, (time.time() - 61, time.time() - 61))
    assert (await store.claim("trip", "here")).epoch == 8
    assert sorted(name.name for name in path.parent.iterdir()) == ["owner.8.json"]


async def test_an_owner_of_another_boot_of_this_machine_is_dead(store: FileStore, place: Path) -> None:
    forge(place, machine=machine.machine_id(), boot="an earlier one")
    assert (await store.claim("trip", "here")).epoch == 8


async def test_an_owner_whose_lock_is_free_is_dead(store: FileStore, place: Path) -> None:
    forge(place, machine=machine.machine_id(), boot=machine.boot_id(), pid=os.getpid())
    assert (await store.claim("trip", "here")).epoch == 8


async def test_an_owner_that_gave_back_is_gone(store: FileStore, place: Path) -> None:
    forge(place, released=True)
    assert await store.owner("trip") is None
    assert (await store.claim("trip", "here")).epoch == 8


async def test_an_owner_file_that_a_power_cut_emptied_holds_for_its_lease(store: FileStore, place: Path) -> None:
    path = forge(place)
    path.write_bytes(bytes(1024))
    with pytest.raises(SessionBusyError, match="unknown host"):
        await store.claim("trip", "here")
    os.utime(path, (time.time() - 31, time.time() - 31))
    assert (await store.claim("trip", "here")).epoch == 8


async def test_the_epoch_is_above_that_of_the_log_too(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    for epoch in (2, 3):
        claim = await store.claim("trip", "here")
        await store.append(claim, [batch(epoch, epoch)])
        await store.release(claim)
    (place / "sessions/trip/owner.3.json").unlink()
    assert (await store.claim("trip", "here")).epoch == 4


async def test_a_release_says_so_in_place(store: FileStore, place: Path) -> None:
    claim = await store.claim("trip", "here")
    await store.release(claim, "2026-02-02T00:00:00.000Z")
    said = json.loads((place / "sessions/trip/owner.1.json").read_bytes())
    assert (said["released"], said["wake_at"], said["host"]) == (True, "2026-02-02T00:00:00.000Z", "here")


async def test_a_claim_that_nobody_holds_any_more_is_free(store: FileStore) -> None:
    await store.claim("trip", "here")
    gc.collect()
    assert await store.owner("trip") is None
    assert (await store.claim("trip", "here")).epoch == 2


async def test_a_renewal_that_comes_late_looks_for_another_owner(store: FileStore, place: Path) -> None:
    claim = await store.claim("trip", "here", 60_000)
    claim.extend(machine.steady() - 120)
    assert claim.overdue
    assert renew(claim)
    assert not claim.overdue
    claim.extend(machine.steady() - 120)
    folder = place / "sessions/trip"
    other = create_locked(str(folder / "owner.2.json"), OwnerRecord("other"))
    assert not renew(claim)
    assert claim.overdue
    with pytest.raises(OwnershipLostError):
        await store.flush(claim)
    os.close(other)


async def test_case_196_an_owner_that_can_not_renew_is_overdue_at_its_own_deadline(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await store.claim("trip", "here", 300)

    def out_of_reach(*_arguments: object) -> None:
        raise OSError(errno.EIO, "the disk is away")

    with monkeypatch.context() as broken:
        broken.setattr(os, "utime", out_of_reach)
        async with asyncio.timeout(30):
            while not claim.overdue:
                await asyncio.sleep(0.01)
    async with asyncio.timeout(30):  # within reach again, and nobody took over
        while claim.overdue:
            await asyncio.sleep(0.01)


async def test_a_claim_that_is_renewed_more_often_than_those_before_it_is_renewed_in_time(store: FileStore, place: Path) -> None:
    seldom = await store.claim("seldom", "here", 300_000)
    async with asyncio.timeout(20):
        while keeper()._rests_until == 0:
            await asyncio.sleep(0)
    often = await store.claim("often", "here", renew_ms=20)
    owner = place / "sessions/often/owner.1.json"
    taken = owner.stat().st_mtime_ns
    async with asyncio.timeout(20):
        while owner.stat().st_mtime_ns == taken:
            await asyncio.sleep(0)
    for claim in (seldom, often):
        await store.release(claim)


async def test_a_forked_child_does_not_keep_its_parents_claim(store: FileStore) -> None:
    claim = await store.claim("trip", "here")
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    assert not claim.overdue
    await store.release(claim)
    again = await store.claim("trip", "here")
    os.close(again.owner_file)  # as if killed: only the child could still hold the lock
    again.owner_file = -1
    assert await store.owner("trip") is None
    os.write(go[1], b"x")
    os.waitpid(child, 0)
    for end in (*ready, *go):
        os.close(end)


async def test_a_damaged_log_is_read_but_not_claimed(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    for seq in range(1, 6):
        await store.append(claim, [batch(seq)])
    await store.release(claim)
    log = place / "sessions/trip/log.jsonl"
    lines = log.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"text", b"test")
    log.write_bytes(b"\n".join(lines))
    fresh = FileStore(place)
    for _ in range(2):
        with pytest.raises(DamagedLogError, match="3 to 3"):
            await fresh.claim("trip", "here")
        assert await fresh.owner("trip") is None
    found = await fresh.read("trip")
    assert [one.seq for one in found.batches] == [1, 2, 4, 5]
    assert [(hole.first, hole.last) for hole in found.holes] == [(3, 3)]
    assert await fresh.delete("trip") is True


async def test_a_claim_that_wrote_nothing_leaves_nothing(store: FileStore, place: Path) -> None:
    for _ in range(3):
        claim = await store.claim("trip", "here")
        await store.release(claim)
        assert list((place / "sessions").iterdir()) == []


async def test_what_somebody_left_meanwhile_stays(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.post("trip", Post("p", "abort", "now"))
    await store.release(claim)
    assert [post.id for post in await store.inbox("trip")] == ["p"]
    claim = await store.claim("wakes", "here")
    await store.release(claim, "2030-01-01T00:00:00.000Z")
    assert "2030" in (place / "sessions/wakes/owner.1.json").read_text()
    claim = await store.claim("written", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    assert await store.delete("written") is True


async def test_a_claim_that_took_over_keeps_the_number(store: FileStore, place: Path) -> None:
    """The owner it replaced may be asleep before its first line."""
    forge(place, released=True)
    claim = await store.claim("trip", "here")
    await store.release(claim)
    assert (await store.claim("trip", "here")).epoch == 9


@pytest.mark.parametrize("what", ["claim", "post"])
async def test_who_finds_an_unused_folder_gone_makes_it_again(store: FileStore, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    real = store.layout.make_session

    def made_and_given_back_by_another(log_id: str) -> str:
        monkeypatch.undo()
        folder = real(log_id)
        os.rmdir(folder)
        return folder

    monkeypatch.setattr(store.layout, "make_session", made_and_given_back_by_another)
    if what == "post":
        await store.post("trip", Post("p", "abort", "now"))
        assert [post.id for post in await store.inbox("trip")] == ["p"]
    else:
        assert (await store.claim("trip", "here")).epoch == 1


async def test_a_claimer_whose_file_another_just_tried_tries_again(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claimer that sweeps asks of every file aside whether it is locked, and holds its lock for that moment."""

    def tried_by_another(file: int, how: int) -> None:
        monkeypatch.undo()
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("fcntl.flock", tried_by_another)
    assert (await store.claim("trip", "here")).epoch == 1


async def test_two_that_begin_and_leave_at_once_meet_nothing_but_each_other(place: Path) -> None:
    def begin_and_leave() -> None:
        store = FileStore(place)
        for _ in range(200):
            with contextlib.suppress(SessionBusyError):
                asyncio.run(_claim_and_release(store))

    with ThreadPoolExecutor(2) as threads:
        for ended in [threads.submit(begin_and_leave) for _ in range(2)]:
            ended.result()
    assert list((place / "sessions").glob("*/.*")) == []


async def _claim_and_release(store: FileStore) -> None:
    await store.release(await store.claim("trip", "here"))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
async def test_a_release_where_the_disk_does_not_answer_is_a_storage_error(
    store: FileStore, place: Path, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    real = os.stat

    def failing(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if str(path).endswith("owner.1.json"):
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(StorageError, match=r"owner\.1\.json"):
        await store.release(claim)
    monkeypatch.undo()
    assert await store.owner("trip") is None  # its lock is free all the same
    assert (await store.claim("trip", "here")).epoch == 2
