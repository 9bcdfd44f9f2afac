"""Several processes fight for one log in a database, stopped and let go at random: nothing acknowledged is lost, nobody interleaves."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest
from warm_process import Popen

from lousho_cli.domain import records as r
from lousho_cli.stores.sqlite.store import SqliteStore

OWNERS = 3

FIGHTS = """
import asyncio, os, random, sys
from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError, SessionBusyError
from lousho_cli.stores.sqlite.store import SqliteStore

async def own(store):
    claim = await store.claim("shared", f"host-{os.getpid()}", 200)
    try:
        head = (await store.read("shared")).head
        for number in range(1, random.randrange(2, 60)):
            text = f"{os.getpid()}-{claim.epoch}-{number}"
            batch = r.Batch(head + number, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("w", text),))
            await store.append(claim, (batch,), durable=random.random() < 0.5)
            os.write(1, f"{text}\\n".encode())
            await asyncio.sleep(random.random() * 0.004)
    finally:
        await store.release(claim)

async def main():
    store = SqliteStore(sys.argv[1])
    while True:
        try:
            await own(store)
        except (SessionBusyError, OwnershipLostError):
            await asyncio.sleep(random.random() * 0.02)

asyncio.run(main())
"""


async def fight(place: Path, environment: dict[str, str], stops: int, seed: int) -> None:
    chance = random.Random(seed)
    notes = place.with_suffix(".notes")
    with notes.open("ab") as said:
        owners = [Popen([sys.executable, "-c", FIGHTS, str(place)], env=environment, stdout=said) for _ in range(OWNERS)]
        try:
            async with asyncio.timeout(60):
                while notes.stat().st_size == 0:
                    await asyncio.sleep(0.01)
            for _ in range(stops):
                owner = chance.choice(owners)
                os.kill(owner.pid, signal.SIGSTOP)
                await asyncio.sleep(chance.random() * 0.5)  # longer than a lease, or not: that is what is tried
                os.kill(owner.pid, signal.SIGCONT)
                await asyncio.sleep(chance.random() * 0.05)
            assert all(owner.poll() is None for owner in owners), "one of them failed"
        finally:
            for owner in owners:
                owner.kill()
                owner.wait()
    acknowledged = notes.read_text().split()
    store = SqliteStore(place)
    read = await store.read("shared")
    assert not read.holes
    epochs = [batch.epoch for batch in read.batches]
    assert epochs == sorted(epochs), "owners interleave"
    standing = [record.text for batch in read.batches for record in batch.records if isinstance(record, r.Note)]
    assert len(set(standing)) == len(standing)
    assert set(acknowledged) <= set(standing)
    assert len({text.split("-")[0] for text in standing}) > 1, "only one of them ever owned it"
    store.close()


@pytest.mark.slow
async def test_stopped_owners_of_a_log_in_a_database(tmp_path: Path, child_environment: dict[str, str]) -> None:
    """Leases have to run out."""
    await fight(tmp_path / "lousho.db", child_environment, 12, 0)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 5))
async def test_stopped_owners_of_a_log_in_a_database_many_times(tmp_path: Path, child_environment: dict[str, str], seed: int) -> None:
    await fight(tmp_path / "lousho.db", child_environment, 120, seed)
