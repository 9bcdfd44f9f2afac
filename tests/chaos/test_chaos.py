"""Chaos: many workers over one server, a monkey that torments all of them, and what must hold behind it.

In CI for some seconds, with few workers. At length, a minute with 8 workers and 200 sessions:

    pytest -n 0 -m sweep tests/chaos

``LOUSHO_CHAOS_SEED=7`` has the monkey do the same again; without it, each run draws a seed, and a failure names it. What was
done, said and seen then stays in the folder that the failure names: ``diary``, ``witness``, and what each process said.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import judge
import pytest
from crew import Crew
from diary import Diary
from lease_watch import LeaseWatch
from monkey import Monkey, plan
from pg_server import Server, new_schema
from sessions import begin
from warm_process import run
from witness import seen

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.ports.log_store import LogRead
from lousho_cli.stores.postgres.store import PostgresStore

AGENTS = ("steps", "gated", "never", "wide")


class Size(NamedTuple):
    """How much of it: ``seconds`` for the monkey, who does something about each ``every_s``; ``pace`` as in ``Crew``."""

    workers: int
    sessions: int
    seconds: float
    every_s: float
    lease_s: int
    pace: float
    restarts: int = 1


IN_CI = Size(workers=4, sessions=24, seconds=5.0, every_s=0.2, lease_s=2, pace=0.2)
AT_LENGTH = Size(workers=8, sessions=200, seconds=60.0, every_s=0.3, lease_s=3, pace=1.5)
OF_THE_SERVER = AT_LENGTH._replace(every_s=1.0, restarts=15)
CALM_S = 120.0
"""How long it may take until all is settled once they are left alone. A worker tries again after 30 s what it had to leave."""


@pytest.mark.slow  # five seconds of the monkey, and then leases have to run out
async def test_what_a_monkey_leaves_is_as_if_it_had_not_been(server: Server, tmp_path: Path) -> None:
    await torment(IN_CI, server, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("size", [AT_LENGTH, OF_THE_SERVER], ids=["all", "server"])
async def test_a_minute_of_a_monkey(size: Size, server: Server, tmp_path: Path) -> None:
    await torment(size, server, tmp_path)


async def torment(size: Size, server: Server, folder: Path) -> None:
    seed = int(os.environ.get("LOUSHO_CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))
    url = f"{server.url}?schema={new_schema()}"
    store = PostgresStore(url)
    names = {f"{AGENTS[number % len(AGENTS)]}-{number:03}": AGENTS[number % len(AGENTS)] for number in range(size.sessions)}
    await asyncio.gather(*(begin(store, name, agent) for name, agent in names.items()))
    crew = Crew(url, folder, size.workers, size.lease_s, size.pace)
    diary = Diary(folder / "diary")
    monkey = Monkey(crew, server, diary)
    try:
        with LeaseWatch(url, crew, size.lease_s, diary):
            monkey.rage(plan(seed, size.seconds, size.workers, size.every_s, size.lease_s, size.restarts))
            raged = time.monotonic()
            found = await calm(store, monkey, crew)
            took = time.monotonic() - raged
        crew.end()
    finally:
        crew.remove()
    done = seen(crew.witness)
    cases = [judge.Case(name, agent, await store.read(name), done) for name, agent in names.items()]
    store.close()
    places = {pid: place.name for place in crew.workers for pid in place.pids}
    faults = [fault for case in cases for fault in judge.faults(case, diary, places)]
    faults += found + judge.acknowledged(cases, crew.told("decided")) + said_ill(crew) + checked(url)
    for case in cases if faults else ():
        keep(folder / f"{case.name}.jsonl", case.log)
    print(f"seed {seed}: {len(diary.entries)} deeds, calm after {took:.1f} s")
    told = (folder / "diary").read_text()[-6000:]
    assert not faults, f"LOUSHO_CHAOS_SEED={seed}, see {folder}:\n" + "\n".join(faults) + f"\n{told}"


async def calm(store: PostgresStore, monkey: Monkey, crew: Crew) -> list[str]:
    """Waits until all was sent and every session is settled; what is not says why."""
    ends = time.monotonic() + CALM_S
    while True:
        sent, heads, posted = set(crew.told("sent")), (await store.heads()).heads, await store.posted()
        open_ones = [head for head in heads if head.outcome is None or head.outline.waiting or head.id in posted or head.id not in sent]
        if not open_ones or time.monotonic() > ends:
            return [f"{head.id} is not settled: {head.status}, {head.outcome}, {await store.owner(head.id)}" for head in open_ones]
        monkey.revive()
        await asyncio.sleep(0.1)


def said_ill(crew: Crew) -> list[str]:
    """Processes that failed with a traceback, or ended as they should not."""
    ill = [f"{place.err} has a traceback" for place in crew.places if "Traceback" in place.err.read_text()]
    return ill + [f"{place.name} ended with {place.codes}" for place in crew.workers if not set(place.codes) <= {-9, -15, 143}]


def checked(url: str) -> list[str]:
    """What ``lousho fsck`` finds."""
    done = run([sys.executable, "-m", "lousho_cli", "fsck", "--store", url], capture_output=True, text=True, timeout=120)
    return [f"fsck ended with {done.returncode}: {done.stdout}{done.stderr}"] if done.returncode else []


def keep(file: Path, log: LogRead) -> None:
    """Writes a log down."""
    batches: Sequence[r.Batch] = log.batches
    file.write_bytes(b"".join(map(encode_line, batches)))
