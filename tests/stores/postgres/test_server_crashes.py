"""The server itself is killed or started anew in the middle of things: what was acknowledged is there, and nothing stands twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pg_server import Server

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server("wal_writer_delay=10s", "max_connections=40")
    yield running
    running.remove()


async def texts(store: PostgresStore, log_id: str) -> list[str]:
    found = await store.read(log_id)
    assert found.holes == ()
    return [record.text for one in found.batches for record in one.records if isinstance(record, r.Note)]


async def test_what_was_acknowledged_is_there_after_a_kill_of_the_server(server: Server, opened: Open, batch: MakeBatch) -> None:
    store = opened(server.url)
    held = [await store.claim(f"s{n}", "here") for n in range(4)]
    acknowledged: list[list[str]] = [[] for _ in held]
    stop = asyncio.Event()

    async def drive(number: int) -> None:
        seq = 0
        while not stop.is_set():
            seq += 1
            await store.append(held[number], [batch(seq)], durable=seq % 3 > 0)
            acknowledged[number].append(f"text {seq}")

    running = [asyncio.create_task(drive(number)) for number in range(4)]
    for _ in range(2):
        before = sum(map(len, acknowledged))
        async with asyncio.timeout(60):
            while sum(map(len, acknowledged)) < before + 40:
                await asyncio.sleep(0.01)
        server.kill()
        server.start()
    before = sum(map(len, acknowledged))
    async with asyncio.timeout(60):
        while sum(map(len, acknowledged)) < before + 20:
            await asyncio.sleep(0.01)
    stop.set()
    await asyncio.gather(*running)
    for number in range(4):
        assert await texts(store, f"s{number}") == acknowledged[number]


def write_late(server: Server) -> None:
    """From now on nothing comes to the disk but what somebody waits for: so a killed server surely loses the rest."""
    found: list[Any] = []
    while not found:  # it is started behind the server
        found = server.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    os.kill(found[0][0], signal.SIGSTOP)


def start_lazy(server: Server) -> None:
    server.start()
    write_late(server)


async def test_what_the_server_had_not_on_its_disk_is_sent_again(server: Server, opened: Open, batch: MakeBatch) -> None:
    write_late(server)
    store = opened(server.url)
    claim = await store.claim("quick", "here")
    await store.append(claim, [batch(1)])
    await store.append(claim, [batch(2)], durable=False)
    await store.append(claim, [batch(3)], durable=False)
    assert (await store.read("quick")).synced == 1
    server.kill()
    start_lazy(server)
    assert (await opened(server.url).read("quick")).head == 1  # it was lost there
    await store.append(claim, [batch(4)])
    found = await store.read("quick")
    assert ([one.seq for one in found.batches], found.synced) == ([1, 2, 3, 4], None)
    await store.append(claim, [batch(5)], durable=False)
    server.kill()
    start_lazy(server)
    await store.flush(claim)
    assert [one.seq for one in (await store.read("quick")).batches] == [1, 2, 3, 4, 5]
    await store.append(claim, [batch(6)], durable=False)
    server.kill()
    server.start()
    await store.release(claim)
    assert [one.seq for one in (await store.read("quick")).batches] == [1, 2, 3, 4, 5, 6]


async def test_a_claim_outlives_the_server_and_what_was_removed_does_not_come_back(server: Server, opened: Open, batch: MakeBatch) -> None:
    store = opened(server.url)
    claim = await store.claim("known", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    await store.post("known", Post("p", "abort", "2026-01-01T00:00:00.000Z"))
    write_late(server)
    server.sql("CHECKPOINT")  # from here on it is not on its disk which numbers of logs it gave out
    new, known = await store.claim("new", "here"), await store.claim("known", "here")
    await store.discard("known", ["p"])
    server.kill()
    server.start()
    assert await store.inbox("known") == (), "the next run is not meant"
    other = await store.claim("other", "here")
    assert other.held.no != new.held.no, "else what is written to one of them would stand in the other"
    await store.append(new, [batch(1, 1, r.Note("n", "of new"))])
    await store.append(other, [batch(1, 1, r.Note("n", "of other"))])
    await store.append(known, [batch(2, 2)])
    assert [await texts(store, log_id) for log_id in ("known", "new", "other")] == [["text 1", "text 2"], ["of new"], ["of other"]]


async def test_case_179_a_restart_between_two_saves(server: Server, opened: Open, batch: MakeBatch) -> None:
    store = opened(server.url)
    claim = await store.claim("restarted", "here")
    await store.append(claim, [batch(1)], durable=False)
    server.stop()
    saving = asyncio.create_task(store.append(claim, [batch(2)]))
    await asyncio.sleep(0)
    server.start()
    await saving
    await store.append(claim, [batch(3)])
    assert await texts(store, "restarted") == ["text 1", "text 2", "text 3"]
    assert not claim.overdue
    owner: Any = await store.owner("restarted")
    assert owner.epoch == claim.epoch
