"""Who owns a log in a database: locks, leases, boots, and what becomes of claims that nobody gave back."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import OwnershipLostError, SessionBusyError, StorageError
from lousho_cli.stores.machine import steady
from lousho_cli.stores.sqlite import presence
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


def locks(place: Path) -> list[str]:
    return sorted(file.name for file in place.parent.iterdir() if "-owner-" in file.name)


OWNS = """
import asyncio, sys
from lousho_cli.stores.sqlite.store import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    claims = [await store.claim(name, "there") for name in sys.argv[2:]]
    print("owns", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_one_lock_says_that_an_owner_lives_whatever_it_owns(store: SqliteStore, place: Path, script: Any) -> None:
    process = script(OWNS, place, "one", "two")
    assert process.stdout.readline() == "owns\n"
    assert len(locks(place)) == 1
    owner = await store.owner("one")
    assert owner is not None
    assert (owner.host, owner.pid) == ("there", process.pid)
    process.kill()
    process.wait()
    assert await store.owner("one") is None
    assert await store.owner("two") is None
    assert (await store.claim("one", "here")).epoch == 2
    assert len(locks(place)) == 1, "what the dead one left is gone, ours is there"


async def test_a_store_that_is_closed_leaves_nothing_beside_its_file(place: Path, batch: MakeBatch) -> None:
    store = SqliteStore(place)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    assert len(locks(place)) == 1
    store.close()
    assert [file.name for file in place.parent.iterdir()] == [place.name]
    again = SqliteStore(place)
    assert await again.owner("trip") is None
    assert (await again.claim("trip", "here")).epoch == 2
    again.close()


async def test_a_claim_that_was_dropped_is_free_at_once(store: SqliteStore, place: Path) -> None:
    claim = await store.claim("trip", "here")
    other = SqliteStore(place)
    with pytest.raises(SessionBusyError):
        await other.claim("trip", "there")
    del claim
    gc.collect()
    assert (await other.claim("trip", "there")).epoch >= 1
    other.close()


async def test_a_store_that_was_dropped_owns_nothing(place: Path) -> None:
    store: Any = SqliteStore(place)
    claim = await store.claim("trip", "here")
    del store, claim
    gc.collect()
    other = SqliteStore(place)
    assert await other.owner("trip") is None
    assert locks(place) == []
    other.close()


async def test_an_owner_of_another_boot_is_dead(store: SqliteStore, place: Path) -> None:
    claim = await store.claim("trip", "here")
    store.writer.run_now(presence_job("UPDATE owners SET boot = 'an earlier one'"))
    other = SqliteStore(place)
    assert await other.owner("trip") is None
    await other.claim("trip", "there")
    with pytest.raises(OwnershipLostError):
        await store.flush(claim)
    other.close()


def presence_job(sql: str) -> Any:
    from lousho_cli.stores.sqlite.job import Job

    return Job(lambda connection: connection.execute(sql))


async def test_an_owner_that_does_not_renew_is_replaced(store: SqliteStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here", 60_000)
    await store.append(claim, [batch(1)])
    store.writer.run_now(presence_job("UPDATE owners SET renewed_ms = renewed_ms - 59000"))
    other = SqliteStore(place)
    with pytest.raises(SessionBusyError):
        await other.claim("trip", "there")
    store.writer.run_now(presence_job("UPDATE owners SET renewed_ms = renewed_ms - 1000"))
    assert (await other.claim("trip", "there")).epoch == 2
    with pytest.raises(OwnershipLostError):
        await store.append(claim, [batch(2)])
    assert claim.overdue
    other.close()


async def test_one_renewal_is_good_for_all_logs_of_a_store(store: SqliteStore) -> None:
    claims = [await store.claim(f"s{number}", "here", 60_000) for number in range(5)]
    for claim in claims:
        claim.extend(steady() - 120)
        assert claim.overdue
    before = store.database.query("SELECT count(*), min(renewed_ms) FROM owners")
    store._parts.keeper.renew()
    ((count, renewed),) = store.database.query("SELECT count(*), min(renewed_ms) FROM owners")
    assert count == before[0][0] == 1
    assert renewed >= before[0][1]
    assert not any(claim.overdue for claim in claims)


async def test_a_late_renewal_loses_what_another_took(store: SqliteStore, place: Path) -> None:
    kept, taken = await store.claim("kept", "here", 60_000), await store.claim("taken", "here", 60_000)
    store.writer.run_now(presence_job("UPDATE owners SET renewed_ms = renewed_ms - 60000"))
    other = SqliteStore(place)
    await other.claim("taken", "there")
    for claim in (kept, taken):
        claim.extend(steady() - 120)
    store._parts.keeper.renew()
    assert not kept.overdue
    assert taken.overdue
    owner = await other.owner("kept")
    assert owner is not None
    assert owner.host == "here"
    other.close()


async def test_the_epoch_of_a_deleted_session_never_comes_again(store: SqliteStore, batch: MakeBatch) -> None:
    epochs = []
    for _ in range(3):
        claim = await store.claim("trip", "here")
        epochs.append(claim.epoch)
        await store.append(claim, [batch(1, claim.epoch)])
        await store.release(claim)
        assert await store.delete("trip") is True
    assert epochs == [1, 2, 3]


async def test_a_first_claim_under_which_nothing_was_written_leaves_nothing(store: SqliteStore) -> None:
    await store.release(await store.claim("trip", "here"))
    assert store.database.query("SELECT * FROM logs") == []
    claim = await store.claim("posted", "here")
    await store.post("posted", Post("p", "abort", "now"))
    await store.release(claim)
    assert store.database.query("SELECT id FROM logs") == [("posted",)]


async def test_a_lock_that_can_not_be_made_is_an_error_of_ours(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(presence, "_locked", refused)
    with pytest.raises(StorageError, match="permission denied"):
        await store.claim("trip", "here")


def in_the_child(store: SqliteStore, claim: Any, said: Any) -> None:
    async def look() -> Any:
        lost = claim.overdue
        try:
            await store.append(claim, [r.Batch(2, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("n", "child"),))])
        except OwnershipLostError:
            lost = lost and True
        owner = await store.owner("trip")
        other = await store.claim("other", "child")
        await store.append(other, [r.Batch(1, other.epoch, "2026-01-01T00:00:00.000Z", (r.Note("n", "child"),))])
        await store.release(other)
        return lost, owner.pid if owner else None, len((await store.read("trip")).batches)

    said.put(asyncio.run(look()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_forked_child_owns_nothing_and_opens_the_file_anew(store: SqliteStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    forking = multiprocessing.get_context("fork")
    said = forking.SimpleQueue()
    child = forking.Process(target=in_the_child, args=(store, claim, said))
    child.start()
    assert said.get() == (True, os.getpid(), 1)
    child.join(30)
    assert child.exitcode == 0
    await store.append(claim, [batch(2)])  # the child took nothing with it
    assert [head.id for head in (await store.heads()).heads] == ["trip", "other"]
