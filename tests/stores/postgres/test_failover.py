"""The server dies for good, and a standby takes its place: who names both goes on with it. What the standby never got is not made up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pg_server import Server

from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError, StorageError
from lousho_cli.executor.create_agent import create_agent
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.postgres import database, driver
from lousho_cli.stores.postgres.store import PostgresStore
from lousho_cli.tools.define import define_tool

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Server]]:
    """All there were, the newest last: it is the one that writes."""
    some = [Server("wal_level=replica", "max_connections=40")]
    yield some
    for one in some:
        one.remove()


@pytest.fixture
def standby(servers: list[Server]) -> Server:
    """A copy of the server that writes, which follows it."""
    servers.append(Server("max_connections=40", "wal_retrieve_retry_interval=100ms", standby_of=servers[-1]))
    return servers[-1]


@pytest.fixture
def primary(standby: Server, servers: list[Server]) -> Server:
    return servers[-2]


@pytest.fixture
def both(primary: Server, standby: Server) -> str:
    """The address of both."""
    return primary.url.removesuffix("/postgres") + f",127.0.0.1:{standby.port}/postgres"


async def until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not there():
            await asyncio.sleep(0.01)


async def test_what_was_acknowledged_is_there_behind_a_failover_and_runs_go_on(
    primary: Server, standby: Server, both: str, opened: Open, batch: MakeBatch
) -> None:
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.sql("SELECT pg_reload_conf()")
    await until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == [("sync",)])
    store = opened(both)
    claim = await store.claim("trip", "here")
    acknowledged: list[int] = []
    stop, working, go = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ran: list[str] = []

    async def append() -> None:
        while not stop.is_set():
            await store.append(claim, [batch(len(acknowledged) + 1)], durable=len(acknowledged) % 3 > 0)
            acknowledged.append(len(acknowledged) + 1)

    async def work() -> str:
        ran.append("work")
        working.set()
        await go.wait()
        return "done"

    turns: list[Any] = [{"tool_calls": [{"name": "work", "args": {}, "id": "c"}]}, "It is done."]
    agent = create_agent(ScriptedProvider(turns), store=store, tools=[define_tool(name="work", execute=work, replay="never")])
    appending, running = asyncio.create_task(append()), asyncio.create_task(agent.send("go", "run"))
    await until(lambda: len(acknowledged) >= 20 and working.is_set())
    primary.kill()
    comes_between = asyncio.create_task(opened(both).read("trip"))
    await asyncio.wait((comes_between,), timeout=0.3)
    standby.promote()
    go.set()
    before = len(acknowledged)
    await until(lambda: len(acknowledged) > before + 10)
    stop.set()
    await appending
    assert [one.seq for one in (await store.read("trip")).batches] == acknowledged
    assert ((await running).text, ran) == ("It is done.", ["work"])
    assert not claim.overdue
    # Who is begun while nobody writes waits for one that does. The last append may have been one that was not waited for.
    assert (await comes_between).head >= before - 1


async def test_what_no_standby_has_is_not_acknowledged_though_it_is_found_done(
    servers: list[Server], opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that is cut off while it waits for a standby counts on that server alone: a second try finds it there."""
    alone, store = servers[-1], opened(servers[-1].url)
    claim = await store.claim("cut-off", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    monkeypatch.setattr(database.Database.now, "__kwdefaults__", {"writes": True, "patience_s": 1.2, "limit_s": None})
    monkeypatch.setattr(driver, "STATEMENT_S", 0.4)
    alone.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    alone.sql("SELECT pg_reload_conf()")
    await until(lambda: alone.sql("SHOW synchronous_standby_names") == [("nobody",)])
    try:
        deleting = asyncio.create_task(store.delete("cut-off"))
        await until(lambda: bool(alone.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")))
        await until(lambda: alone.sql("SELECT head FROM lousho.logs WHERE id = 'cut-off'") == [(0,)])
        with pytest.raises(StorageError, match="did not answer in time") as caught:
            await deleting
        assert "standby" in caught.value.hint
    finally:
        alone.sql("ALTER SYSTEM RESET synchronous_standby_names")
        alone.sql("SELECT pg_reload_conf()")
    assert await store.delete("cut-off") is False


async def test_a_log_that_is_shorter_than_what_was_acknowledged_is_not_written_over(
    primary: Server, standby: Server, both: str, opened: Open, batch: MakeBatch
) -> None:
    store = opened(both)
    held = [await store.claim(name, "here") for name in ("short", "even")]
    for claim in held:
        await store.append(claim, [batch(1)])
    end = primary.sql("SELECT pg_current_wal_flush_lsn()")[0][0]
    await until(lambda: standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == [(True,)])
    standby.stop()
    await store.append(held[0], [batch(2), batch(3)])  # which no standby ever hears of
    late = await store.claim("late", "here")
    primary.kill()
    standby.start()
    standby.promote()
    with pytest.raises(StorageError, match="ends at 1 and not at 3") as caught:
        await store.append(held[0], [batch(4)])
    assert "standby" in caught.value.hint
    with pytest.raises(StorageError):
        await store.append(held[0], [batch(2)])  # its writer is dead
    await store.append(held[1], [batch(2)])
    with pytest.raises(OwnershipLostError):
        await store.append(late, [batch(1)])
    await store.release(held[0])
    again = await store.claim("short", "here")
    assert (again.head, again.epoch) == (1, 2)
    await store.append(again, [batch(2, 2)])
    for name in ("short", "even"):
        found = await store.read(name)
        assert ([one.seq for one in found.batches], found.holes) == ([1, 2], ())
