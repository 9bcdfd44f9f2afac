"""Where the system gives no further thread, nothing hangs and nothing is lost: a claim is refused, and what runs goes on without."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import Claim, LogStore
from lousho_cli.stores.checkpoint_files import FileCheckpointStore
from lousho_cli.stores.file import store as file_store
from lousho_cli.stores.file import sync
from lousho_cli.stores.file.keeper import Keeper
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.stores.threads import on_thread


@contextlib.contextmanager
def no_threads() -> Iterator[None]:
    """The limit of threads is reached."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        yield


@pytest.fixture(params=["file", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogStore]:
    """A store of a process that has no thread of it yet."""
    keeper, syncs = Keeper(), sync.Syncs()
    monkeypatch.setattr(file_store, "keeper", lambda: keeper)
    monkeypatch.setattr(sync, "syncs", lambda: syncs)
    made: Any = FileStore(tmp_path) if request.param == "file" else SqliteStore(tmp_path / "lousho.db")
    yield made
    if request.param == "sqlite":
        made.close()


def line(claim: Claim, seq: int) -> r.Batch:
    return r.Batch(seq, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("n", f"text {seq}"),))


async def test_a_claim_is_refused_and_leaves_nothing(store: LogStore) -> None:
    with no_threads(), pytest.raises(StorageError, match="can't start new thread") as raised:
        await store.claim("a", "host")
    assert (raised.value.code, bool(raised.value.hint)) == ("LOUSHO_NO_THREAD", True)
    assert await store.owner("a") is None
    claim = await store.claim("a", "host")
    assert claim.epoch == 1
    await store.append(claim, [line(claim, 1)])
    await store.release(claim)


async def test_who_has_claims_goes_on_writing(store: LogStore) -> None:
    claims = [await store.claim(name, "host") for name in ("a", "b", "c")]
    with no_threads():
        await asyncio.gather(*(store.append(claim, [line(claim, 1)]) for claim in claims))
        await asyncio.gather(*(store.append(claim, [line(claim, 2)]) for claim in claims))
    await asyncio.gather(*(store.append(claim, [line(claim, 3)]) for claim in claims))
    for claim in claims:
        await store.release(claim)
        assert (await store.read(claim.log_id)).head == 3


async def test_checkpoints_in_files_are_kept_and_found(tmp_path: Path) -> None:
    store = FileCheckpointStore(tmp_path)
    with no_threads():
        await store.save("a", Checkpoint("a", ()))
        assert (await store.load("a")) == Checkpoint("a", ())


async def test_work_that_a_busy_thread_takes_after_all_is_done_once() -> None:
    done: list[str] = []
    go, begun = threading.Event(), threading.Event()
    executor = ThreadPoolExecutor(2)
    executor.submit(lambda: (begun.set(), go.wait(60)))
    begun.wait(60)
    with no_threads():
        assert await on_thread(executor, lambda: done.append("here") or len(done)) == 1
        with pytest.raises(LookupError):
            await on_thread(executor, lambda: {}["not there"])
    go.set()
    executor.shutdown()  # behind all that was queued
    assert done == ["here"]
