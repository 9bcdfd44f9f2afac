"""Who waits for a post is told of it by the server; where a word is lost, it is found a little later. An idle one asks nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from cutting_proxy import CuttingProxy

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message
from lousho_cli.errors import NotFoundError
from lousho_cli.executor import log_events
from lousho_cli.host import following
from lousho_cli.stores.postgres import lookout
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]
AT = "2026-01-01T00:00:00.000Z"


async def listening(store: PostgresStore) -> None:
    async with asyncio.timeout(30):
        while not store._lookout._listener.hears:
            await asyncio.sleep(0.01)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not told of is found so late that no test waits for it."""
    monkeypatch.setattr(lookout, "LISTENING_S", 300.0)


async def looked(store: PostgresStore) -> None:
    """Until the look that follows the beginning of listening is over."""
    async with asyncio.timeout(30):
        while store._lookout._post_due < time.monotonic() + 100:
            await asyncio.sleep(0.01)


async def test_a_post_from_elsewhere_is_told_of(store: PostgresStore, url: str, opened: Open, seldom: None) -> None:
    await store.claim("trip", "here")
    waiting = asyncio.create_task(store.wait_for_post("trip", 60_000))
    await listening(store)
    await looked(store)
    await opened(url).post("trip", Post("p", "abort", AT))
    async with asyncio.timeout(30):
        await waiting
    assert [post.id for post in await store.inbox("trip")] == ["p"]


async def test_a_post_between_two_waits_is_not_missed(store: PostgresStore, url: str, opened: Open, seldom: None) -> None:
    await store.claim("trip", "here")
    await store.wait_for_post("trip", 1)
    await listening(store)
    await opened(url).post("trip", Post("p", "abort", AT))
    async with asyncio.timeout(30):
        while not store._lookout._told:  # it is told of while nobody waits
            await asyncio.sleep(0.01)
    async with asyncio.timeout(30):
        await store.wait_for_post("trip", 60_000)
    assert len(await store.inbox("trip")) == 1
    await store.wait_for_post("trip", 1)  # and once


async def test_a_lost_word_costs_a_moment_and_no_work(store: PostgresStore, sql: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookout, "LISTENING_S", 0.2)
    await store.claim("trip", "here")
    waiting = asyncio.create_task(store.wait_for_post("trip", 60_000))
    await listening(store)
    sql('INSERT INTO {s}.posts (no, id, post) SELECT no, \'p\', \'{"id":"p","kind":"abort","at":"now"}\' FROM {s}.logs')
    async with asyncio.timeout(30):
        await waiting
    assert [post.id for post in await store.inbox("trip")] == ["p"]


async def test_who_listens_goes_on_behind_a_cut(url: str, proxy: CuttingProxy, opened: Open) -> None:
    store = opened(proxy.url(url))
    await store.claim("trip", "here")
    await store.wait_for_post("trip", 1)
    await listening(store)
    proxy.cut_all()
    async with asyncio.timeout(30):
        while store._lookout._listener.hears:
            await asyncio.sleep(0.01)
    waiting = asyncio.create_task(store.wait_for_post("trip", 60_000))
    await opened(url).post("trip", Post("p", "abort", AT))
    async with asyncio.timeout(30):
        await waiting
    await listening(store)


async def test_a_wake_is_told_to_who_waits_for_work(store: PostgresStore, url: str, opened: Open, batch: MakeBatch) -> None:
    waiting = asyncio.create_task(store.wait_for_work(60_000))
    await asyncio.sleep(0)
    await listening(store)
    other = opened(url)
    claim = await other.claim("trip", "there")
    await other.append(claim, [batch(1)])
    await other.release(claim)
    assert not waiting.done()  # nobody is told of what is only written
    await other.release(again := await other.claim("trip", "there"), AT)
    assert again.epoch == 2
    async with asyncio.timeout(30):
        assert await waiting is True
    assert await store.wait_for_work(60_000) is True, "nobody has asked what is pending since"
    await store.pending(1, AT)
    assert await store.wait_for_work(1) is False


async def test_waiting_sessions_ask_the_server_nothing(store: PostgresStore) -> None:
    for n in range(30):
        await store.claim(f"s{n}", "here")
    waiting = [asyncio.create_task(store.wait_for_post(f"s{n}", 60_000)) for n in range(30)]
    await listening(store)
    asked, begun = 0, time.monotonic()
    real = store.database.now

    def counting(*args: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        return real(*args, **options)

    store.database.now = counting  # type: ignore[method-assign]
    await asyncio.sleep(1)
    assert asked <= 2 + (time.monotonic() - begun) / lookout.LISTENING_S, "a look every three seconds, for all of them"
    for one in waiting:
        one.cancel()


async def test_what_other_hosts_are_told_of_is_not_kept(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every host hears of every post. The places for what was told between two waits are for its own sessions."""
    monkeypatch.setattr(lookout, "_MOST_TOLD", 5)
    await store.inbox("mine")
    for n in range(20):
        store._lookout.tell(f"other-{n}")
    store._lookout.tell("mine")
    async with asyncio.timeout(30):
        await store.wait_for_post("mine", 60_000)
    assert store._lookout._told == {"mine"}
    monkeypatch.setattr(lookout, "_FORGET_S", 0.0)
    for n in range(20):
        await store.inbox(f"long-ago-{n}")
    assert len(store._lookout._looked) < 10


async def test_however_many_wait_for_an_end_one_look_serves_them_all(
    store: PostgresStore, url: str, opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def not_told(log_id: str) -> None:
        """That somebody looks on is written every five seconds, for each."""

    monkeypatch.setattr(store, "follow", not_told)
    monkeypatch.setattr(lookout, "_SELDOM_S", 0.2)
    for module in (following, log_events):
        monkeypatch.setattr(module, "WATCH_MS", 50)
    driver = opened(url)
    held = [await driver.claim(f"s{n}", "there") for n in range(40)]
    begun = (r.Claimed("there"), r.Created("a"), r.InputReceived("i", (Message("user", "go"),)), r.RunStarted("i"), r.InputApplied("i"))
    for claim in held:
        await driver.append(claim, [batch(1, 1, *begun)])
    waiting = [asyncio.create_task(following.settlement_of(store, f"s{n}", "i", lambda: None)) for n in range(40)]
    told = [0] * 40

    async def read_on(number: int) -> None:
        async for event in log_events.read_events(store, f"s{number}", (0, -1), lambda _teller, _driven: True):
            told[number] = event.cursor

    reading = [asyncio.create_task(read_on(n)) for n in range(40)]
    async with asyncio.timeout(20):
        while store._lookout._pace < lookout._SELDOM_S or not all(told):
            await asyncio.sleep(0.01)
    asked = 0
    real = store.database.now

    def counting(*args: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        return real(*args, **options)

    store.database.now = counting  # type: ignore[method-assign]
    since = time.monotonic()
    await asyncio.sleep(0.5)  # each of them sees some times whether it still has to wait
    assert asked <= 2 + (time.monotonic() - since) / lookout._SELDOM_S
    for claim in held:
        await driver.append(claim, [batch(2, 1, r.InputSettled("i", "completed"))])
    async with asyncio.timeout(20):
        assert {(await one).outcome for one in waiting} == {"completed"}
        while set(told) != {2}:
            await asyncio.sleep(0.01)
    for task in reading:
        task.cancel()


async def test_who_waits_for_an_end_learns_that_the_session_was_deleted(store: PostgresStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    begun = (r.Claimed("here"), r.Created("a"), r.InputReceived("i", (Message("user", "go"),)), r.RunStarted("i"), r.InputApplied("i"))
    await store.append(claim, [batch(1, 1, *begun)])
    waiting = asyncio.create_task(following.settlement_of(store, "trip", "i", lambda: None))
    async with asyncio.timeout(30):
        while "trip" not in store._lookout._for_growth:
            await asyncio.sleep(0.01)
    await store.release(claim)
    await store.delete("trip")
    async with asyncio.timeout(30):
        with pytest.raises(NotFoundError):
            await waiting


async def test_who_looks_on_wakes_for_an_append_here_and_elsewhere(store: PostgresStore, url: str, opened: Open, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    other = opened(url)
    watching = [asyncio.create_task(one.watch("trip", 1, 60_000)) for one in (store, store, other)]
    await asyncio.sleep(0)
    await store.append(claim, [batch(2)])
    async with asyncio.timeout(30):
        assert await asyncio.gather(*watching) == [True, True, True]
    assert await other.followed("trip") is False
    await other.follow("trip")
    assert await store.followed("trip") is True
