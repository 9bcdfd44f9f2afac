"""A connection is lost in any statement: before the server hears it, or once it is done and the answer is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest
from cutting_proxy import CuttingProxy

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.trimming import base_batch, trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import OwnershipLostError, SessionBusyError, StorageError
from lousho_cli.ports.credentials import Credential
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.postgres import database, driver
from lousho_cli.stores.postgres.claims import Taking
from lousho_cli.stores.postgres.deleting import Deleting
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]
AT = "2026-01-01T00:00:00.000Z"


async def seqs(store: PostgresStore, log_id: str = "trip") -> list[int]:
    return [one.seq for one in (await store.read(log_id)).batches]


@pytest.mark.parametrize("done", [False, True], ids=["unheard", "done"])
@pytest.mark.parametrize("durable", [False, True], ids=["quick", "durable"])
async def test_an_append_counts_once(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, done: bool, durable: bool) -> None:
    store = opened(proxy.url(url))
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    proxy.cut_at("append_some", done=done)
    await store.append(claim, [batch(2), batch(3)], durable=durable)
    await store.append(claim, [batch(4)])
    assert proxy.cuts == 1
    assert await seqs(opened(url)) == [1, 2, 3, 4]


@pytest.mark.parametrize("done", [False, True], ids=["unheard", "done"])
async def test_appends_of_many_sessions_count_once_each(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, done: bool) -> None:
    store = opened(proxy.url(url))
    held = [await store.claim(f"s{n}", "here") for n in range(6)]
    proxy.cut_at("append_some", done=done)
    await asyncio.gather(*(store.append(one, [batch(seq)]) for seq in (1, 2, 3) for one in held))
    assert proxy.cuts == 1
    for n in range(6):
        assert await seqs(store, f"s{n}") == [1, 2, 3]


@pytest.mark.parametrize("done", [False, True], ids=["unheard", "done"])
async def test_a_claim_is_ours_once_it_was_taken(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, done: bool) -> None:
    store = opened(proxy.url(url))
    await store.release(await store.claim("trip", "here"))
    proxy.cut_at(".take_free(", done=done)
    claim = await store.claim("trip", "here")
    assert (proxy.cuts, claim.epoch) == (1, 2)
    with pytest.raises(SessionBusyError):
        await store.claim("trip", "here")
    await store.append(claim, [batch(1, 2)])


async def test_a_claim_of_which_nobody_heard_is_given_back(
    url: str, proxy: CuttingProxy, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(proxy.url(url))
    await store.release(await store.claim("kept", "here"))
    with monkeypatch.context() as patch:
        patch.setitem(database.Database.now.__kwdefaults__, "patience_s", 0.0)  # it is not begun again
        for name in ("trip", "left"):
            proxy.cut_at(".take_free(", done=True)
            with pytest.raises(StorageError):
                await store.claim(name, "here")
    claim = await store.claim("trip", "here")  # not said to be somebody's
    other = opened(url)
    async with asyncio.timeout(30):
        while await other.owner("left") is not None:
            await asyncio.sleep(0.01)
    await other.claim("left", "there")
    with pytest.raises(SessionBusyError):
        await other.claim("trip", "there")
    await store.release(claim)


@pytest.mark.parametrize("done", [False, True], ids=["unheard", "done"])
async def test_whatever_else_is_written_counts_once(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, done: bool) -> None:
    store = opened(proxy.url(url))
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, r.Claimed("here"), r.Created("trip")), batch(2)])
    session = await read_session(store, "trip")
    marks = {
        ".put_post(": lambda: store.post("trip", Post("p", "abort", AT)),
        ".discard(": lambda: store.discard("trip", ["p"]),
        ".save_snapshot(": lambda: store.save_snapshot(claim, trimmed_state(session)),
        ".rest_own(": lambda: store.save_head(claim, head_of(session)),
        ".hosts": lambda: store.heartbeat("h", 10_000),
        "base <": lambda: store.trim(claim, base_batch(trimmed_state(session), 1, None)),
        ".give_back(": lambda: store.release(claim, AT),
    }
    for mark, call in marks.items():
        proxy.cut_at(mark, done=done)
        await call()
    assert proxy.cuts == len(marks)
    assert (await store.inbox("trip"), await seqs(store), await store.owner("trip")) == ((), [2], None)
    assert await store.lives("h")
    head = await store.head("trip")
    assert head is not None
    assert head.wake_at == AT
    assert fold((await store.read("trip")).batches) == session


async def test_a_deletion_counts_once(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch) -> None:
    store, other = opened(proxy.url(url)), opened(url)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    proxy.cut_at("COMMIT", done=True)
    assert await store.delete("trip") is True, "it was there, although the second try found nothing"
    assert proxy.cuts == 1
    deleting = Deleting(store._parts.presence, "trip")
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, claim.epoch)])
    await store.release(claim)
    assert other.database.now(deleting) is True
    claim = await other.claim("trip", "there")
    await other.append(claim, [batch(1, claim.epoch)])
    await other.release(claim)
    assert other.database.now(deleting) is True, "the answer to the first was lost"
    assert await seqs(other) == [1], "what was begun meanwhile stays"


async def test_a_secret_is_not_lost_with_the_answer(url: str, proxy: CuttingProxy, opened: Open) -> None:
    kept = opened(proxy.url(url)).credentials
    await kept.save(Credential("c", "key", "anna", None, "sesame\0"))
    proxy.cut_at("taken_by", done=True)
    taken = await kept.take("c", "anna")
    assert (proxy.cuts, taken) == (1, Credential("c", "key", "anna", None, "sesame\0"))
    assert await kept.take("c", "anna") is None


async def test_of_two_who_take_a_secret_one_gets_it(url: str, opened: Open) -> None:
    kept = [opened(url).credentials for _ in range(2)]
    await kept[0].save(Credential("old", "secret_answer", None, "2020-01-01T00:00:00.000Z", "x"))
    for n in range(5):
        await kept[0].save(Credential(f"c{n}", "key", None, None, "sesame"))
        taken = await asyncio.gather(*(kept[m % 2].take(f"c{n}", None) for m in range(4)))
        assert sorted(one is None for one in taken) == [False, True, True, True]
    assert await kept[1].read("old", None) is None, "what is long too old does not stay"


async def test_who_was_replaced_meanwhile_is_refused(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, sql: Any) -> None:
    store = opened(proxy.url(url))
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    proxy.refuse()
    late = asyncio.create_task(store.append(claim, [batch(2)]))
    await asyncio.sleep(0)
    sql("UPDATE {s}.owners SET renewed_ms = 0")
    sql("UPDATE {s}.logs SET owner = 'other', epoch = 2, head = 2, head_epoch = 2")
    proxy.refuse(False)
    with pytest.raises(OwnershipLostError):
        await late
    assert claim.overdue


async def test_a_server_that_is_away_for_long_is_a_clear_error(
    url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database.Database.now, "__kwdefaults__", {"writes": True, "patience_s": 0.3, "limit_s": None})
    store = opened(proxy.url(url).replace("postgres@", "postgres:pass-word@"))
    claim = await store.claim("trip", "here", 300)
    proxy.refuse()
    with pytest.raises(StorageError) as caught:
        await store.append(claim, [batch(1)])
    assert "pass-word" not in str(caught.value)
    assert "[secret]" in str(caught.value)
    assert caught.value.__cause__ is None
    async with asyncio.timeout(30):
        while not claim.overdue:  # case 196: nothing new begins behind its own deadline
            await asyncio.sleep(0.01)
    proxy.refuse(False)
    with pytest.raises(StorageError):
        await store.append(claim, [batch(1)])  # its writer is dead
    await store.release(claim)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(1, again.epoch)])


async def test_a_server_that_is_away_fails_all_sessions_at_once(
    url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each in its turn, as long as one is tried for: the last of many would wait for an hour."""
    monkeypatch.setattr(database.Database.now, "__kwdefaults__", {"writes": True, "patience_s": 0.2, "limit_s": None})
    store = opened(proxy.url(url))
    held = [await store.claim(f"s{n}", "here") for n in range(8)]
    proxy.refuse()
    tried = 0
    real = store._parts.writer._database.now

    def counting(*args: Any, **options: Any) -> Any:
        nonlocal tried
        tried += threading.current_thread().name == "lousho-append"
        return real(*args, **options)

    monkeypatch.setattr(store.database, "now", counting)
    failed = await asyncio.gather(*(store.append(one, [batch(1)]) for one in held), return_exceptions=True)
    assert all(isinstance(one, StorageError) for one in failed)
    assert tried <= 2, "the first may have gone alone"


async def test_what_could_not_be_given_back_is_free_once_the_server_is_there(
    url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database.Database.now, "__kwdefaults__", {"writes": True, "patience_s": 0.1, "limit_s": None})
    store, other = opened(proxy.url(url)), opened(url)
    kept, claim = await store.claim("kept", "here"), await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    proxy.refuse()
    with pytest.raises(StorageError):
        await store.release(claim, AT)
    assert await other.owner("trip") is not None
    proxy.refuse(False)
    async with asyncio.timeout(20):
        while await other.owner("trip") is not None:
            await asyncio.sleep(0.01)
    head = await other.head("trip")
    assert head is not None
    assert (head.wake_at, kept.lost) == (AT, False)


async def test_a_server_that_says_nothing_is_given_up(
    url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(proxy.url(url))
    claim = await store.claim("trip", "here")
    monkeypatch.setattr(driver, "STATEMENT_S", 0.2)
    proxy.silent = True
    waiting = asyncio.create_task(store.append(claim, [batch(1)]))
    await asyncio.sleep(0.3)
    proxy.silent = False
    await waiting
    await store.append(claim, [batch(2)])
    assert await seqs(store) == [1, 2]


async def test_a_lease_is_renewed_on_another_connection_where_one_says_nothing(url: str, proxy: CuttingProxy, opened: Open) -> None:
    store = opened(proxy.url(url))
    claim = await store.claim("trip", "here", 60_000, 100)
    before = claim._deadline
    proxy.silent = True
    renewing = asyncio.create_task(asyncio.to_thread(store._keeper.renew))
    assert await renewing < 1, "it is given up before a lease is over, and tried again soon"
    proxy.cut_all()
    proxy.silent = False
    async with asyncio.timeout(30):
        while claim._deadline == before:
            await asyncio.sleep(0.01)


async def test_another_of_several_addresses_takes_over(url: str, proxy: CuttingProxy, opened: Open, batch: MakeBatch) -> None:
    there = proxy.url(url).partition("@")[2].partition("/")[0]
    store = opened(url.replace("@", f"@{there},"))
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    proxy.refuse()
    await store.append(claim, [batch(2)])
    assert await seqs(store) == [1, 2]


async def test_a_server_that_is_away_is_not_waited_for_by_one_after_the_other(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.heartbeat("-", 1000)
    clock = Clock()
    monkeypatch.setattr(database, "time", clock)

    def away_s() -> float:
        begun = clock.now
        with pytest.raises(StorageError):
            store.database.now(lost)
        return clock.now - begun

    first = away_s()
    assert database.PATIENCE_S / 2 < first <= database.PATIENCE_S
    assert [away_s() for _ in range(3)] == [pytest.approx(0.5, abs=0.5)] * 3
    store.database.now(lambda hand: hand.rows("SELECT 1"))
    assert away_s() > database.PATIENCE_S / 2, "it was there meanwhile"
    clock.now += 60.0
    assert away_s() > database.PATIENCE_S / 2, "nobody asked for long"


class Clock:
    """One on which only sleeping takes time."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def lost(hand: Any) -> None:
    raise psycopg.OperationalError("the connection was lost")


async def test_a_claim_that_is_still_under_way_is_given_back_once_it_is_done(url: str, store: PostgresStore) -> None:
    taking = Taking(store._parts.presence, "trip", "here", 10_000)
    give_up = partial(taking.give_up, channel=store._parts.channel)
    place, _, schema = url.partition("?schema=")
    await store.heads()
    await store.post("other", Post("p", "abort", AT))  # there are tables
    with driver.Connection.connect(place, autocommit=True) as connection, psycopg.connect(place, autocommit=True) as looking:
        connection.execute("BEGIN")
        taking(Hand(connection, schema))
        giving = asyncio.create_task(store.database.run(give_up))
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
        async with asyncio.timeout(30):
            while not giving.done() and looking.execute(waits, (f"%{schema}%",)).fetchall() == [(0,)]:
                await asyncio.sleep(0.01)
        connection.execute("COMMIT")
        await giving
    assert await store.owner("trip") is None


async def test_a_claim_of_which_nobody_heard_any_more_is_given_back(
    url: str, proxy: CuttingProxy, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(proxy.url(url))
    await store.release(await store.claim("trip", "here"))
    place, _, schema = url.partition("?schema=")
    monkeypatch.setitem(database.Database.now.__kwdefaults__, "patience_s", 0.0)  # it is not begun again
    proxy.cut_at(".take_free(", done=True)
    with psycopg.connect(place) as holding, psycopg.connect(place, autocommit=True) as looking:
        holding.execute(f"SELECT 1 FROM {schema}.logs FOR UPDATE")
        claiming = asyncio.create_task(store.claim("trip", "here"))
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
        async with asyncio.timeout(30):
            while looking.execute(waits, (f"%{schema}%take_free%",)).fetchall() == [(0,)]:
                await asyncio.sleep(0.01)
        claiming.cancel()
        await asyncio.wait({claiming})
        holding.commit()
        async with asyncio.timeout(30):
            while looking.execute(f"SELECT epoch FROM {schema}.logs WHERE owner IS NULL").fetchall() != [(2,)]:
                await asyncio.sleep(0.01)
    assert proxy.cuts == 1


async def test_a_log_is_given_back_by_who_was_cancelled_before_it_began(store: PostgresStore, url: str, opened: Open) -> None:
    claim, kept = await store.claim("trip", "here"), await store.claim("kept", "here")  # with which the lease is renewed
    begun, goes_on = threading.Semaphore(0), threading.Event()

    def hold(hand: Hand) -> None:
        begun.release()
        goes_on.wait()

    busy = [asyncio.create_task(store.database.run(hold)) for _ in range(store.address.connections - 2)]
    async with asyncio.timeout(30):
        for _ in busy:
            while not begun.acquire(blocking=False):
                await asyncio.sleep(0.01)
    releasing = asyncio.create_task(store.release(claim))
    await asyncio.sleep(0)  # now it waits for a thread
    releasing.cancel()
    await asyncio.wait({releasing})
    goes_on.set()
    await asyncio.gather(*busy)
    other = opened(url)
    async with asyncio.timeout(20):
        while await other.owner("trip") is not None:
            await asyncio.sleep(0.01)
    await store.release(kept)
