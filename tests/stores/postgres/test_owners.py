"""Who owns a log: on this machine a lock tells, from elsewhere only the lease; and what becomes of a store that is left."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError, SessionBusyError, StorageError
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]


async def test_an_owner_elsewhere_is_alive_until_its_lease_is_over(store: PostgresStore, url: str, opened: Open, sql: Any) -> None:
    claim = await store.claim("trip", "there")
    sql("UPDATE {s}.owners SET place = 'another machine'")
    store._parts.presence.close()  # its process is gone, but who could know
    other = opened(url)
    with pytest.raises(SessionBusyError):
        await other.claim("trip", "here")
    sql("UPDATE {s}.owners SET renewed_ms = renewed_ms - 40000")
    assert await other.owner("trip") is None
    assert (await other.claim("trip", "here")).epoch == claim.epoch + 1


async def test_a_lock_that_was_tidied_away_proves_nothing(store: PostgresStore, url: str, opened: Open) -> None:
    claim = await store.claim("trip", "here")
    presence = store._parts.presence
    os.unlink(f"{presence._folder}/owner-{presence.token}")
    owner = await opened(url).owner("trip")
    assert owner is not None
    assert owner.epoch == claim.epoch


async def test_case_183_a_renewal_that_comes_too_late_is_seen_to(
    store: PostgresStore, url: str, opened: Open, batch: MakeBatch, sql: Any
) -> None:
    taken, kept = await store.claim("taken", "here", 60_000), await store.claim("kept", "here", 60_000)
    for claim in (taken, kept):
        claim.extend(0.0)  # it stood still for long
    sql("UPDATE {s}.owners SET renewed_ms = 0")
    other = await opened(url).claim("taken", "there")
    store._keeper.renew()
    assert (taken.overdue, kept.overdue) == (True, False)
    with pytest.raises(OwnershipLostError):
        await store.append(taken, [batch(1)])
    await store.append(kept, [batch(1)])
    assert other.epoch == 2


async def test_a_claim_that_was_dropped_is_free(store: PostgresStore, url: str, opened: Open) -> None:
    claim = await store.claim("trip", "here")
    assert claim.epoch == 1
    del claim
    gc.collect()
    other = opened(url)
    async with asyncio.timeout(30):
        while await other.owner("trip") is not None:
            await asyncio.sleep(0.01)


async def test_a_closed_store_says_so(url: str, batch: MakeBatch) -> None:
    store = PostgresStore(url)
    claim = await store.claim("trip", "here")
    store.close()
    store.close()
    for call in (store.heads, lambda: store.append(claim, [batch(1)]), lambda: store.claim("more", "here")):
        with pytest.raises(StorageError, match="was closed"):
            await call()
    assert await PostgresStore(url).owner("trip") is None


async def test_a_store_that_is_let_go_leaves_no_thread(url: str, batch: MakeBatch) -> None:
    before = set(threading.enumerate())
    store = PostgresStore(url)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.wait_for_post("trip", 1)
    del store, claim
    gc.collect()
    async with asyncio.timeout(30):
        while [one for one in threading.enumerate() if one not in before and one.is_alive()]:
            await asyncio.sleep(0.01)


async def test_a_forked_child_begins_anew(store: PostgresStore, url: str, opened: Open, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads: what the child does with them is what is tried
        child = os.fork()
    if not child:
        signal.alarm(30)
        try:
            store.read("trip").send(None)
        except StopIteration as end:
            os._exit(len(end.value.batches) + 40)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 41
    await store.append(claim, [batch(2)])
    assert [one.seq for one in (await opened(url).read("trip")).batches] == [1, 2]


async def test_tls_that_is_asked_for_is_not_done_without(url: str, opened: Open) -> None:
    with pytest.raises(StorageError, match="SSL"):
        await opened(f"{url}&sslmode=require").heads()


async def test_a_server_that_can_only_be_read(url: str, opened: Open, sql: Any) -> None:
    sql("DROP ROLE IF EXISTS ro_{s}; CREATE ROLE ro_{s} LOGIN SUPERUSER; ALTER ROLE ro_{s} SET default_transaction_read_only = on")
    store = opened(url.replace("postgres@", f"ro_{url.partition('?schema=')[2]}@"))
    assert (await store.heads()).heads == ()
    with pytest.raises(StorageError, match="can only be read"):
        store.database.now(lambda hand: hand.run("INSERT INTO {s}.hosts VALUES ('h', 1)"), patience_s=0.1)


async def test_a_claim_that_a_standby_knows_nothing_of_is_over_once_it_gives_the_same_again(
    store: PostgresStore, batch: MakeBatch, sql: Any
) -> None:
    lost = await store.claim("trip", "here")
    sql("UPDATE {s}.logs SET id = 'other', epoch = 0, owner = NULL, grip = NULL")  # the number it gave to another, as it lacked the first
    claim = await store.claim("other", "here")
    assert claim.held == lost.held
    with pytest.raises(OwnershipLostError):
        await store.append(lost, [batch(1)])
    await store.release(lost)
    await store.append(claim, [batch(1)])
    assert ((await store.read("trip")).head, (await store.read("other")).head) == (0, 1)
