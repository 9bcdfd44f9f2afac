"""Several processes with one database: nothing is ever locked for a caller, and a kill in any write loses nothing that was told."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.stores.sqlite.fsck import check
from lousho_cli.stores.sqlite.store import SqliteStore

WRITES = """
import asyncio, sys
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, user
from lousho_cli.stores.sqlite.store import SqliteStore

async def main(path, name, saves):
    store = SqliteStore(path)
    messages = [user("hi")]
    for step in range(1, int(saves) + 1):
        messages.append(Message("assistant", f"turn {step}"))
        await store.checkpoints.save(name, Checkpoint(name, tuple(messages), step_index=step))
        print(step, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
async def test_case_162_eight_processes_save_to_one_file(place: Path, script: Any) -> None:
    """Eight processes have to start, and 800 saves to be synced."""
    processes = [script(WRITES, place, f"s{number}", 100) for number in range(8)]
    for process in processes:
        out, err = await asyncio.to_thread(process.communicate, timeout=240)
        assert (process.returncode, err) == (0, "")
        assert out.split() == [str(step) for step in range(1, 101)]
    store = SqliteStore(place)
    assert {head.id: head.step for head in (await store.heads()).heads} == {f"s{number}": 100 for number in range(8)}
    for number in range(8):
        assert [one.step for one in await store.checkpoints.history(f"s{number}")] == list(range(100, 50, -1))
    assert store.database.query("PRAGMA integrity_check") == [("ok",)]
    store.close()


APPENDS = """
import asyncio, sys
from lousho_cli.domain import records as r
from lousho_cli.stores.sqlite.store import SqliteStore

async def main(path):
    store = SqliteStore(path)
    claim = await store.claim("trip", "there")
    head = (await store.read("trip")).head
    while True:
        head += 1
        batch = r.Batch(head, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("there"), r.Note("n", "x" * (head * 997 % 9000))))
        await store.append(claim, (batch,), durable=head % 3 != 0)
        print(head, claim.epoch, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""

OPENS = """
import asyncio, sys
from lousho_cli.stores.sqlite.fsck import check
from lousho_cli.stores.sqlite.store import SqliteStore

store = SqliteStore(sys.argv[1])
read = asyncio.run(store.read("trip"))
print(read.head, len(read.batches), len(read.holes), len(check(store)), [head.seq for head in asyncio.run(store.heads()).heads][0])
"""


async def killed_and_opened(place: Path, script: Any, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    told = 0
    for _ in range(kills):
        writing = script(APPENDS, place)
        for _ in range(chance.randrange(1, 40)):
            line = await asyncio.to_thread(writing.stdout.readline)
            told = int(line.split()[0])
        writing.kill()
        opening = [script(OPENS, place) for _ in range(2)]
        rest = (await asyncio.to_thread(writing.stdout.read)).split("\n")[:-1]
        told = int(rest[-1].split()[0]) if rest else told
        for process in opening:
            out, err = await asyncio.to_thread(process.communicate, timeout=60)
            assert err == ""
            head, batches, holes, findings, listed = map(int, out.split())
            assert (batches, holes, findings, listed) == (head, 0, 0, head)
            assert told <= head <= told + 1, "the newest batch that was committed is the head"
    store = SqliteStore(place)
    assert check(store) == []
    read = await store.read("trip")
    assert [batch.seq for batch in read.batches] == list(range(1, read.head + 1))
    assert {batch.epoch for batch in read.batches} == set(range(1, kills + 1))
    store.close()


@pytest.mark.slow
async def test_case_166_killed_in_a_write_and_opened_at_once_by_two(place: Path, script: Any) -> None:
    """Each kill needs three processes; the sweep has a hundred of them."""
    await killed_and_opened(place, script, 6, 0)


@pytest.mark.sweep
async def test_case_166_killed_a_hundred_times(place: Path, script: Any) -> None:
    await killed_and_opened(place, script, 100, 1)
