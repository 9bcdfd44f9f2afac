"""Each cache deleted, damaged or out of date in the middle of a run changes nothing but speed."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Post
from lousho_cli.stores.file.store import FileStore

LONG_AGO = (1, 1)  # an owner nobody can read is believed to live until its lease is over


def delete(path: Path) -> None:
    path.unlink(missing_ok=True)


def garbage(path: Path) -> None:
    path.write_bytes(b'{"seq": 99999, \x00\xff nonsense')
    os.utime(path, LONG_AGO)


def empty(path: Path) -> None:
    path.write_bytes(b"")
    os.utime(path, LONG_AGO)


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)
    os.utime(path, LONG_AGO)


def flip(path: Path) -> None:
    """One bit in the middle: still JSON, perhaps, and no longer what was written."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, LONG_AGO)


@pytest.fixture(params=["killed_in_batch", "killed_waiting", "killed_approved"])
def job(request: pytest.FixtureRequest, tmp_path: Path, crash: Any) -> Any:
    """A job that was killed, with a head and a snapshot as good as they can be."""
    shutil.copytree(request.getfixturevalue(request.param).folder, tmp_path / "job")
    job = crash.Job(tmp_path / "job")
    asyncio.run(make_caches(job))
    return job


async def make_caches(job: Any) -> None:
    store = FileStore(job.store)
    claim = await store.claim(job.session, socket.gethostname())
    session = fold((await store.read(job.session)).batches)
    batch = r.Batch(session.seq + 1, claim.epoch, session.updated_at, (r.Claimed(claim.host), r.Note("test", "caches are made")))
    await store.append(claim, [batch])
    session = fold([batch], session)
    await store.save_snapshot(claim, state_from(session))
    await store.save_head(claim, head_of(session))
    await store.release(claim)


def caches(job: Any) -> dict[str, Path]:
    folder: Path = job.log().parent
    found = {"head": folder / "head.json", "snapshot": folder / "snapshot.json", "owner": next(folder.glob("owner.*.json"))}
    assert all(path.stat().st_size for path in found.values())
    return found


def goes_on(job: Any, crash: Any, expected: list[Any]) -> None:
    evidence = crash.look(job, ())
    again = job.process("end")
    assert again.code == 0, again
    crash.look(job, again.told)
    crash.compare(job, evidence, expected, 2)


@pytest.mark.parametrize("way", [delete, garbage, empty, halve, flip])
@pytest.mark.parametrize("cache", ["head", "snapshot", "owner"])
def test_a_cache_that_is_wrong_changes_nothing(job: Any, cache: str, way: Callable[[Path], None], crash: Any, expected: list[Any]) -> None:
    way(caches(job)[cache])
    goes_on(job, crash, expected)


def test_all_caches_gone_change_nothing(job: Any, crash: Any, expected: list[Any]) -> None:
    for path in caches(job).values():
        path.unlink()
    shutil.rmtree(job.log().parent / "inbox", ignore_errors=True)
    goes_on(job, crash, expected)


@pytest.mark.parametrize("cache", ["head", "snapshot", "owner"])
def test_a_cache_from_before_changes_nothing(job: Any, cache: str, tmp_path: Path, crash: Any, points: Any, expected: list[Any]) -> None:
    """The job goes on until its next head is about to be saved; then the cache of before comes back."""
    path = caches(job)[cache]
    shutil.copy(path, tmp_path / "before")
    seq = crash.fold(job.batches()).seq
    ran = job.process("end", *points.strace("rename", "signal=KILL:when=1"))
    assert ran.code == points.KILLED
    shutil.copy(tmp_path / "before", path)
    assert crash.fold(job.batches()).seq > seq
    crash.look(job, ran.told)
    again = job.process("end")
    assert again.code == 0, again
    crash.look(job, [*ran.told, *again.told])
    assert crash.transcript(crash.fold(job.batches())) == expected


@pytest.mark.parametrize("cache", ["head", "snapshot"])
def test_the_cache_of_another_session_changes_nothing(
    job: Any, cache: str, uninterrupted: Any, crash: Any, expected: list[Any], tmp_path: Path
) -> None:
    shutil.copytree(uninterrupted.folder, tmp_path / "other")
    other = crash.Job(tmp_path / "other")
    asyncio.run(make_caches(other))
    shutil.copy(caches(other)[cache], caches(job)[cache])
    goes_on(job, crash, expected)


def test_a_post_that_the_log_has_already_or_that_is_none_changes_nothing(
    tmp_path: Path, killed_approved: Any, crash: Any, expected: list[Any]
) -> None:
    shutil.copytree(killed_approved.folder, tmp_path / "job")
    job = crash.Job(tmp_path / "job")
    decided = next(iter(fold(job.batches()).decided))
    body = msgspec.to_builtins(ApprovalDecision(decided, approved=False, by="somebody else"))
    asyncio.run(FileStore(job.store).post(job.session, Post("late", "answer", "2026-01-01T00:00:00.000Z", body=body)))
    (job.log().parent / "inbox" / "torn.json").write_bytes(b'{"id":')
    goes_on(job, crash, expected)
    assert not (job.log().parent / "inbox" / "late.json").exists()


def test_a_head_from_before_the_pause_hides_no_approval(tmp_path: Path, killed_in_batch: Any, crash: Any, points: Any) -> None:
    shutil.copytree(killed_in_batch.folder, tmp_path / "job")
    job = crash.Job(tmp_path / "job")
    asyncio.run(make_caches(job))
    ran = job.process("end", *points.strace("rename", "signal=KILL:when=1"))
    waits = fold(job.batches()).wait
    assert waits is not None
    assert ran.all("approval") == [waits.id]
    store = FileStore(job.store)
    listed = asyncio.run(store.heads()).heads[0]
    assert listed.waits_for is not None
    assert listed.waits_for.id == waits.id
    assert [pending.id for pending in asyncio.run(store.approvals.list())] == [waits.id]
