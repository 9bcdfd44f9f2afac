"""How a batch lands, and what happens when it can not."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line
from lousho_cli.errors import OwnershipLostError, StorageError
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file import append, sync
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


def lines_of(place: Path, name: str = "trip") -> list[bytes]:
    return (place / f"sessions/{name}/log.jsonl").read_bytes().split(b"\n")


async def test_each_line_says_how_far_the_log_was_synced(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.append(claim, [batch(2)], durable=False)
    await store.append(claim, [batch(3)])
    await store.append(claim, [batch(4), batch(5)])
    await store.append(claim, [batch(6)], durable=False)
    await store.flush(claim)
    await store.append(claim, [batch(7)])
    found = [decode_line(line) for line in lines_of(place) if line]
    assert [one and one.sync for one in found] == [None, None, 1, None, 3, None, None]
    await store.release(claim)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(8, 2)])
    last = decode_line(lines_of(place)[-2])
    assert last is not None
    assert last.sync is None  # whoever gave the log back wrote down that line 7 was synced


async def test_a_reader_knows_what_is_on_the_disk_from_the_next_line_or_who_gave_the_log_back(
    store: FileStore, place: Path, batch: MakeBatch
) -> None:
    claim, reader = await store.claim("trip", "here"), FileStore(place)
    known: list[int | None] = []

    async def look() -> None:
        known.append((await reader.read("trip")).synced)

    await store.append(claim, [batch(1)])
    await look()  # synced, and nothing that others can read says so
    await store.append(claim, [batch(2)], durable=False)
    await look()
    await store.append(claim, [batch(3)])
    await look()
    await store.append(claim, [batch(4)], durable=False)
    await look()
    await store.release(claim)
    await look()
    again = await store.claim("trip", "there")
    await look()  # the new owner has said nothing yet, and the word of the old one went with its file
    await store.release(again)
    await look()
    assert known == [0, 1, 1, 3, None, 3, None]


async def test_the_first_line_of_an_epoch_closes_a_torn_one(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2)])
    await store.release(claim)
    log = place / "sessions/trip/log.jsonl"
    os.truncate(log, log.stat().st_size - 5)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(2, 2)])
    assert [(one.seq, one.epoch) for one in (await store.read("trip")).batches] == [(1, 1), (2, 2)]
    assert b"\n\n" not in log.read_bytes()


async def test_a_claim_that_lost_its_file_never_writes_again(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    owner = place / "sessions/trip/owner.1.json"
    copy = owner.read_bytes()
    owner.unlink()
    before = lines_of(place)
    with pytest.raises(OwnershipLostError):
        await store.append(claim, [batch(2)])
    owner.write_bytes(copy)  # another file of the same name is not ours
    for call in (store.append(claim, [batch(2)]), store.flush(claim)):
        with pytest.raises(OwnershipLostError):
            await call
    assert claim.overdue
    assert lines_of(place) == before


LIMITED = """
import asyncio, resource, sys
from lousho_cli.domain import records as r
from lousho_cli.errors import StorageError
from lousho_cli.stores.file.store import FileStore
async def main():
    store = FileStore(sys.argv[1])
    claim = await store.claim("trip", "here")
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    seq = 0
    try:
        while True:
            batch = r.Batch(seq + 1, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("n", "x" * 300),))
            await store.append(claim, (batch,))
            seq += 1
    except StorageError as error:
        print(seq, error)
    for again in range(2):
        try:
            await store.append(claim, (batch,))
        except StorageError as error:
            print("dead", error)
asyncio.run(main())
"""


async def test_a_write_that_does_not_fit_kills_the_writer_alone(
    store: FileStore, place: Path, batch: MakeBatch, child_environment: dict[str, str]
) -> None:
    child = subprocess.run([sys.executable, "-c", LIMITED, str(place)], env=child_environment, capture_output=True, text=True, check=True)
    first, *dead = child.stdout.splitlines()
    saved = int(first.split()[0])
    assert saved > 3
    assert "log.jsonl" in first
    assert len(dead) == 2
    assert (await store.read("trip")).head == saved
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(saved + 1, claim.epoch)])
    found = await store.read("trip")
    assert (found.head, found.holes) == (saved + 1, ())


async def test_a_failed_sync_is_a_failed_append(store: FileStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    reader, writer = os.pipe()
    kept = os.dup(claim.log_file)
    os.dup2(writer, claim.log_file)  # a pipe takes bytes and can not be synced, as a broken disk
    with pytest.raises(StorageError):
        await store.append(claim, [batch(2)])
    os.dup2(kept, claim.log_file)
    with pytest.raises(StorageError):
        await store.append(claim, [batch(2)])
    with pytest.raises(StorageError):
        await store.flush(claim)
    await store.release(claim)
    for file in (reader, writer, kept):
        os.close(file)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(2, 2)])
    assert (await store.read("trip")).head == 2


async def test_a_claim_whose_sync_failed_on_a_thread_is_let_go_with_its_owner(
    store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(claim: FileClaim) -> None:
        raise StorageError("the disk failed")

    monkeypatch.setattr(append, "sync_now", fails)
    monkeypatch.setattr(sync.average, "value", 0.5)
    claim = await store.claim("trip", "here")
    with pytest.raises(StorageError):
        await store.append(claim, [batch(1)])
    held = weakref.ref(claim)
    del claim
    async with asyncio.timeout(30):
        while gc.collect() >= 0 and held() is not None:
            await asyncio.sleep(0)


async def test_several_sessions_sync_on_the_pool_and_all_land(store: FileStore, batch: MakeBatch) -> None:
    names = [f"s{number}" for number in range(8)]

    async def drive(name: str) -> None:
        claim = await store.claim(name, "here")
        for seq in range(1, 21):
            await store.append(claim, [batch(seq)], durable=seq % 3 > 0)
        await store.release(claim)

    await asyncio.gather(*(drive(name) for name in names))
    for name in names:
        assert (await store.read(name)).head == 20
        assert await store.owner(name) is None


async def test_syncs_leave_the_loop_when_they_are_slow(store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    gc.collect()  # claims that other tests left behind would be other sessions of this process
    threads: list[str] = []
    real = append.sync_now

    def watched(claim: FileClaim) -> None:
        threads.append(threading.current_thread().name)
        real(claim)

    monkeypatch.setattr(append, "sync_now", watched)
    monkeypatch.setattr(sync.average, "value", 0.0)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    monkeypatch.setattr(sync.average, "value", 0.5)
    await store.append(claim, [batch(2)])
    monkeypatch.setattr(sync.average, "value", 0.0)
    await store.append(claim, [batch(3)])
    assert [name.startswith("lousho-sync") for name in threads] == [False, True, False]


async def test_an_append_that_is_cancelled_while_it_syncs_still_counts_its_line(
    store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync.average, "value", 0.5)
    claim = await store.claim("trip", "here")
    task = asyncio.create_task(store.append(claim, [batch(1)]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.append(claim, [batch(2)])
    await store.release(claim)
    assert (await store.read("trip")).head == 2


def test_an_event_loop_that_ends_while_a_sync_waits_holds_nobody_up(
    store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync.average, "value", 0.5)
    loop = asyncio.new_event_loop()
    claim = loop.run_until_complete(store.claim("trip", "here"))
    appending = store.append(claim, [batch(1)])

    def begin_at_last() -> None:
        loop.stop()
        appending.send(None)

    loop.call_soon(begin_at_last)
    loop.run_forever()
    loop.close()
    appending.close()
    asyncio.run(store.release(claim))
    assert (claim.synced, asyncio.run(store.read("trip")).synced) == (1, None)


@pytest.mark.skipif(sys.platform == "darwin", reason="syncs by another call there")
async def test_a_disk_that_fails_one_log_fails_no_other_that_syncs_beside_it(
    store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync.average, "value", 0.5)
    claims = [await store.claim(f"s{number}", "here") for number in range(12)]
    await asyncio.gather(*(store.append(claim, [batch(1)]) for claim in claims))
    broken, really = claims[5].log_file, os.fdatasync

    def fails(file: int) -> None:
        if file == broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        really(file)

    monkeypatch.setattr(os, "fdatasync", fails)
    ended = await asyncio.gather(*(store.append(claim, [batch(2)]) for claim in claims), return_exceptions=True)
    assert [type(error) for error in ended if error is not None] == [StorageError]
    assert [claim.synced for claim in claims] == [2] * 5 + [1] + [2] * 6
    with pytest.raises(StorageError):
        await store.append(claims[5], [batch(3)])
    for claim in claims:
        await store.release(claim)


@pytest.mark.skipif(sys.platform == "darwin", reason="syncs by another call there")
async def test_a_sync_that_fails_fails_all_that_overlap_it(store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system tells of lost pages once. A second sync beside it that hears nothing must not acknowledge them."""
    import threading

    monkeypatch.setattr(sync.average, "value", 0.5)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    go_on, calls = threading.Event(), []

    def told_once(file: int) -> None:
        calls.append(file)
        if len(calls) == 1:
            go_on.wait()
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", told_once)
    both = [asyncio.create_task(store.append(claim, [batch(seq)])) for seq in (2, 3)]
    await asyncio.wait(both, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
    go_on.set()
    assert [type(ended) for ended in await asyncio.gather(*both, return_exceptions=True)] == [StorageError, StorageError]
    assert claim.synced == 1
    await store.release(claim)


async def test_a_log_is_not_replaced_by_its_trimmed_one_under_a_sync_of_it(
    store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose waiter gave up may come late, behind one that was asked for after it: it must not sync a file that was closed."""
    import threading

    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.append(claim, [batch(2)], durable=False)
    begun, go_on, really = threading.Event(), threading.Event(), sync.sync_data

    def slow(file: int) -> None:
        begun.set()
        go_on.wait()
        really(file)

    monkeypatch.setattr(sync, "sync_data", slow)
    late = sync.syncs().begin(lambda: append.sync_now(claim), asyncio.get_running_loop())
    while not begun.is_set():
        await asyncio.sleep(0)
    base = r.Batch(2, 1, "2026-01-01T00:00:00.000Z", (r.Base(state_from(await read_session(store, "trip"))),))
    trimming = threading.Thread(target=lambda: asyncio.run(store.trim(claim, base)))
    trimming.start()
    trimming.join(0.1)
    go_on.set()
    trimming.join(30)
    await late.future
    assert claim.failure is None
    await store.append(claim, [batch(3)])
    await store.release(claim)


async def test_a_log_stays_open_while_a_sync_of_it_runs(store: FileStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the number would be that of another file, whose one report of a failed sync would be taken for this one's."""
    import threading

    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.append(claim, [batch(2)], durable=False)
    begun, go_on, synced = threading.Event(), threading.Event(), list[bool]()
    log = os.fstat(claim.log_file)

    def slow(file: int) -> None:
        begun.set()
        go_on.wait()
        synced.append(os.path.samestat(os.fstat(file), log))

    monkeypatch.setattr(sync, "sync_data", slow)
    late = sync.syncs().begin(lambda: append.sync_now(claim), asyncio.get_running_loop())
    while not begun.is_set():
        await asyncio.sleep(0)
    claim.lost = True
    releasing = threading.Thread(target=lambda: asyncio.run(store.release(claim)))
    releasing.start()
    releasing.join(0.1)
    go_on.set()
    releasing.join(30)
    await late.future
    assert synced == [True]


async def test_a_log_deleted_before_the_first_line_gets_none(
    store: FileStore, place: Path, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner slept on the way to its first line, and the name belongs to another session of the same epoch by now."""
    from concurrent.futures import ThreadPoolExecutor

    late = await store.claim("trip", "sleeper")
    real = append.open_file
    others: list[FileClaim] = []

    async def begin_anew() -> None:
        other = FileStore(place)
        others.append(await other.claim("trip", "here"))

    def open_after_sleeping(path: str, flags: int) -> int:
        monkeypatch.undo()
        (place / "sessions/trip").rename(place / "deleted")
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, begin_anew()).result()
        return real(path, flags)

    monkeypatch.setattr(append, "open_file", open_after_sleeping)
    with pytest.raises(OwnershipLostError):
        await store.append(late, [batch(1, 1, r.Note("n", "late"))])
    await store.append(others[0], [batch(1, 1, r.Note("n", "new"))])
    read = await FileStore(place).read("trip")
    assert [getattr(one.records[0], "text", "") for one in read.batches] == ["new"]


FULL_DISK = r"""
import asyncio, os, subprocess, sys
from pathlib import Path
place = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(place)], check=True)
from lousho_cli.domain import records as r
from lousho_cli.errors import StorageError
from lousho_cli.stores.file.store import FileStore
(place / "ballast").write_bytes(b"x" * 700_000)
def note(seq, epoch):
    return r.Batch(seq, epoch, "2026-01-01T00:00:00.000Z", (r.Note("n", "x" * 20_000),))
async def main():
    store = FileStore(place / ".lousho")
    claim = await store.claim("trip", "here")
    saved = 0
    try:
        while True:
            await store.append(claim, [note(saved + 1, claim.epoch)])
            saved += 1
    except StorageError as error:
        print(error)
        assert str(place) in str(error) and "no space left" in str(error)
    await store.release(claim)
    assert saved > 20
    assert (await FileStore(place / ".lousho").read("trip")).head == saved
    (place / "ballast").unlink()
    claim = await store.claim("trip", "here")
    await store.append(claim, [note(saved + 1, claim.epoch)])
    found = await store.read("trip")
    assert (found.head, found.holes) == (saved + 1, ()), found.holes
    await store.release(claim)
    (place / "ballast").write_bytes(b"x")
    try:
        with open(place / "ballast", "wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
    except OSError:
        pass
    assert await store.delete("trip") is True
    assert not (place / ".lousho/sessions/trip").exists()
    print("done")
asyncio.run(main())
"""


def test_case_158_a_full_disk_is_named_and_room_is_all_it_takes(tmp_path: Path, child_environment: dict[str, str]) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("unshare -rm is not permitted here, so no small disk can be mounted")
    (tmp_path / "disk").mkdir()
    child = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FULL_DISK, str(tmp_path / "disk")],
        env=child_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.stdout.endswith("done\n"), child.stdout + child.stderr
