"""Two workers and a long call: whoever has the session keeps it while it can renew, and begins nothing more when it could not.

Slow: leases have to run out, and those of a worker are whole seconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from crew import Crew
from pg_server import Server, new_schema
from sessions import begin
from witness import Doing, seen

from lousho_cli.domain import records as r
from lousho_cli.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.slow


class Long:
    """Two workers, and a session whose first call lasts until ``let_go``."""

    def __init__(self, server: Server, folder: Path, lease_s: int) -> None:
        self.server, self.schema = server, new_schema()
        self.url = f"{server.url}?schema={self.schema}"
        self._hold = folder / "hold"
        self._hold.touch()
        self.store = PostgresStore(self.url)
        self.crew = Crew(self.url, folder, 2, lease_s, 0.01, hold=self._hold)

    def let_go(self) -> None:
        self._hold.unlink()

    def done(self, call: str) -> list[Doing]:
        return seen(self.crew.witness).get(("steps-1", call), [])

    def renewed_ms(self) -> int:
        """When its owner last renewed its lease, by the server's clock."""
        with psycopg.connect(self.server.url) as connection:
            of_owner = f"SELECT renewed_ms FROM {self.schema}.owners WHERE token = (SELECT owner FROM {self.schema}.logs)"
            rows = connection.execute(of_owner).fetchall()
        return int(rows[0][0]) if rows else 0

    async def until(self, fact: Callable[[], Any]) -> Any:
        async with asyncio.timeout(60):
            while not (found := fact()):
                await asyncio.sleep(0.02)
        return found

    async def settled(self) -> int:
        """Waits until its first input is settled; gives the epoch under which it was."""
        async with asyncio.timeout(60):
            while True:
                for batch in (await self.store.read("steps-1")).batches:
                    if any(isinstance(record, r.InputSettled) and record.outcome == "completed" for record in batch.records):
                        return batch.epoch
                await asyncio.sleep(0.02)


Begin = Callable[[int], Awaitable[Long]]


@pytest.fixture
async def begun(server: Server, tmp_path: Path) -> AsyncIterator[Begin]:
    """Begins it, with leases of so many seconds."""
    made: list[Long] = []

    async def make(lease_s: int) -> Long:
        made.append(Long(server, tmp_path, lease_s))
        await begin(made[0].store, "steps-1", "steps")
        return made[0]

    yield make
    for one in made:
        one.crew.remove()
        one.store.close()


async def test_case_192_a_restart_of_the_server_within_a_long_call_leaves_it_with_its_owner(begun: Begin) -> None:
    long = await begun(6)  # a restart takes less, however much the machine has to do
    (first,) = await long.until(lambda: long.done("c1"))
    long.server.kill()
    long.server.start()
    before = long.renewed_ms()
    await long.until(lambda: long.renewed_ms() > before)
    assert long.done("c1") == [first]
    long.let_go()
    assert await long.settled() == first.epoch
    assert [one.epoch for one in long.done("c1")] == [first.epoch]


async def test_case_192_an_owner_that_can_not_renew_begins_nothing_more(begun: Begin) -> None:
    long = await begun(2)
    (first,) = await long.until(lambda: long.done("c1"))
    (owner,) = [place for place in long.crew.workers if first.pid in place.pids]
    owner.proxy.silent = True
    _, second = await long.until(lambda: len(long.done("c1")) > 1 and long.done("c1"))
    long.let_go()  # for both
    assert await long.settled() == second.epoch > first.epoch
    owner.proxy.silent = False
    (left,) = await long.until(lambda: [line for line in owner.out.read_text().splitlines() if '"left"' in line])
    assert "LOUSHO_OWNERSHIP_LOST" in left
    assert [one.epoch for call in ("c1", "c2", "c3", "c4", "c5") for one in long.done(call)] == [first.epoch, *[second.epoch] * 5]


async def test_an_owner_that_stood_still_at_the_last_moment_begins_nothing_more(begun: Begin) -> None:
    long = await begun(2)
    (first,) = await long.until(lambda: long.done("c1"))
    (owner,) = [place for place in long.crew.workers if first.pid in place.pids]
    owner.proxy.at('"lousho.tool_started","id":"c2"', lambda: os.kill(first.pid, signal.SIGSTOP))  # what it says then is written
    long.let_go()
    epoch = await long.settled()
    os.kill(first.pid, signal.SIGCONT)
    (left,) = await long.until(lambda: [line for line in owner.out.read_text().splitlines() if '"left"' in line])
    assert "LOUSHO_OWNERSHIP_LOST" in left
    assert [one.epoch for call in ("c1", "c2") for one in long.done(call)] == [first.epoch, epoch]
    assert epoch > first.epoch
