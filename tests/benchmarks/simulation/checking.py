"""Real workers beside simulated ones, at sizes that this machine has room for: the same figures of both, and their ratio.

The workers are those of ``lousho worker``, several in this process, each with a store of its own; what they ask of the server is
counted where they ask. How long a takeover takes is measured by ``pg_takeover.py``, with processes that are killed.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from pg_server import Server  # type: ignore[import-not-found]

from lousho_cli.app.agents import AgentChoice
from lousho_cli.app.worked import WorkOrder
from lousho_cli.app.working import Worker
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.executor.abort import AbortController
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.store import PostgresStore

from .calibrating import Meter, input_for
from .figures import simulate
from .knobs import Knobs
from .model import World

SIZES = (1, 2, 4, 8)

_STEPS, _STEP_S, _BUSY = 5, 0.4, 0.5
_WARM_S, _SECONDS = 5.0, 10.0
_TTL_MS = 3_000
_LEASES_MS, _KILLS, _WORLDS = (2_000,), 10, 200
_TURNS = f"{{ tool_calls: [{{ name: t, args: {{}} }}], delay: {_STEP_S} }}, " * _STEPS
_AGENT = f"""name: bench
prompt: You do things.
provider: {{ type: scripted, turns: [{_TURNS}{{ text: Done. }}] }}
tools: [{{ python: tools.py:t }}]
"""
_TOOL = 'async def t() -> str:\n    """Gives 1 KiB."""\n    return "x" * 1024\n'
_KINDS = {
    "INSERT INTO {s}.owners": "leases",
    "SELECT id FROM {s}.logs WHERE no IN": "posted",
}


def check() -> list[dict[str, Any]]:
    """One object for each size, and one for takeovers: of each figure what was predicted, measured, and the ratio. Takes two minutes."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "bench.yaml").write_text(_AGENT)
        (Path(place) / "tools.py").write_text(_TOOL)
        checked = [_at_size(hosts, place) for hosts in SIZES]
    return [*checked, *_takeovers()]


def _at_size(hosts: int, agents: str) -> dict[str, Any]:
    knobs = Knobs(hosts=hosts, processors=2, steps=_STEPS, step_s=_STEP_S, dead=0.0, ttl_s=_TTL_MS / 1000)
    measured = asyncio.run(_measured(hosts, agents, hosts * knobs.concurrency * _BUSY / (_STEPS * _STEP_S)))
    # As many inputs as there happened to be; and a worker's own part of a question, all in one process, counts as its distance.
    inputs_s, away_s = measured.pop("inputs_s"), max(measured.pop("answer_s") - knobs.costs.find / 1e6, 0.0005)
    knobs = msgspec.structs.replace(knobs, renew_s=knobs.ttl_s / 3, every_s=knobs.sessions / inputs_s, steady_s=120.0, distance_s=away_s)
    figures = simulate(knobs)
    predicted = {
        "renewals_s": figures.renewals_s,
        "asks_s": figures.asks_s,
        "posted_s": figures.posted_s,
        "processors": round(figures.processors, 4),
        "found_ms": figures.found_ms[0],
    }
    return {"hosts": hosts, "inputs_s": round(inputs_s, 2), **_beside(predicted, measured)}


def _beside(predicted: dict[str, float], measured: dict[str, float]) -> dict[str, Any]:
    """Of each figure what was predicted, what was measured, and the former in units of the latter."""
    beside = {}
    for name, value in predicted.items():
        ratio = round(value / measured[name], 2) if measured[name] else None
        beside[name] = {"predicted": value, "measured": round(measured[name], 4), "ratio": ratio}
    return beside


class View:
    """Shows nothing; whatever goes wrong ends the check."""

    def say(self, what: Any) -> None:
        assert what.type not in ("left", "failed"), what

    def stand(self, standing: Any) -> None: ...

    def report(self, status: Any) -> None: ...

    def warn(self, text: str, *, again: bool = False) -> None:
        raise AssertionError(text)

    def tell(self, text: str) -> None: ...


def _noting(store: PostgresStore, found: dict[str, float], took: list[float]) -> PostgresStore:
    """The store, which notes when it gave a session to who asked for work, and how long each answer took."""
    asked = store.pending

    async def pending(*arguments: Any) -> Any:
        begun = time.perf_counter()
        heads = await asked(*arguments)
        took.append(time.perf_counter() - begun)
        for head in heads:
            found.setdefault(head.id, time.perf_counter())
        return heads

    store.pending = pending  # type: ignore[method-assign]
    return store


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Counts what is asked of the server, by kind."""
    counts: Counter[str] = Counter()
    executed = Hand._execute

    def execute(hand: Hand, statement: str, arguments: Any) -> Any:
        counts.update(kind for begin, kind in _KINDS.items() if statement.startswith(begin))
        return executed(hand, statement, arguments)

    Hand._execute = execute  # type: ignore[method-assign]
    try:
        yield counts
    finally:
        Hand._execute = executed  # type: ignore[method-assign]


async def _measured(hosts: int, agents: str, inputs_s: float) -> dict[str, float]:
    server = Server("max_connections=200")
    client = PostgresStore(server.url)
    found: dict[str, float] = {}
    sent: dict[str, float] = {}
    took: list[float] = []
    stores = [_noting(PostgresStore(server.url), found, took) for _ in range(hosts)]
    stop = AbortController()
    try:
        names = [f"s{number}" for number in range(round(inputs_s * (_WARM_S + _SECONDS) * 1.5) + 10)]
        for name in names:
            await _waiting(client, name)
        order = WorkOrder(choice=AgentChoice(agents=(agents,), store=server.url), status_every_s=0.0, lease_ms=_TTL_MS)
        workers = [asyncio.ensure_future(Worker(store, order, View()).work(stop.signal)) for store in stores]
        sending = asyncio.ensure_future(_send(client, iter(names), inputs_s, sent))
        await asyncio.sleep(_WARM_S)
        meter = Meter(server)
        with _counted() as counts:
            used, begun, before, asked = meter.used_us(), time.perf_counter(), len(sent), len(took)
            await asyncio.sleep(_SECONDS)
            seconds, used, inputs = time.perf_counter() - begun, meter.used_us() - used, len(sent) - before
            answers = took[asked:]
        sending.cancel()
        stop.abort()
        await asyncio.gather(*workers)
    finally:
        for store in (client, *stores):
            store.close()
        server.remove()
    return {
        "inputs_s": inputs / seconds,
        "answer_s": statistics.fmean(answers),
        "renewals_s": counts["leases"] / seconds,
        "asks_s": len(answers) / seconds,
        "posted_s": counts["posted"] / seconds,
        "processors": round(used / 1e6 / seconds, 4),
        "found_ms": round(statistics.median(found[name] - at for name, at in sent.items() if name in found) * 1000, 1),
    }


async def _waiting(store: PostgresStore, name: str) -> None:
    """A session that waits for its first input."""
    claim = await store.claim(name, "bench")
    batch = r.Batch(1, claim.epoch, "2026-01-02T03:04:05.000Z", (r.Claimed("bench"), r.Created("bench")))
    await store.append(claim, [batch])
    await store.save_head(claim, head_of(fold([batch])))
    await store.release(claim)


async def _send(store: PostgresStore, names: Iterator[str], inputs_s: float, sent: dict[str, float]) -> None:
    random = Random(1)
    for name in names:
        await asyncio.sleep(random.expovariate(inputs_s))
        await store.post(name, input_for("i"))
        sent[name] = time.perf_counter()


def _takeovers() -> list[dict[str, Any]]:
    """Of workers that die on another machine, each with one session, while one more looks for work."""
    program = Path(__file__).parents[1] / "pg_takeover.py"
    words = ["--kills", str(_KILLS), "--leases", ",".join(map(str, _LEASES_MS))]
    found = json.loads(subprocess.run([sys.executable, program, *words], check=True, capture_output=True).stdout)
    checked = []
    for lease_ms in _LEASES_MS:
        knobs = Knobs(hosts=2, sessions=0, ttl_s=lease_ms / 1000, renew_s=lease_ms / 3000, processors=2, distance_s=0.001, step_s=1e9)
        took = [one for seed in range(_WORLDS) for one in _taken_over(msgspec.structs.replace(knobs, seed=seed))]
        predicted = {"least": min(took), "median": statistics.median(took), "most": max(took)}
        measured = found[f"lease_{lease_ms}_another_machine"]
        checked.append({"lease_ms": lease_ms, **_beside({name: round(s * 1000) for name, s in predicted.items()}, measured)})
    return checked


def _taken_over(knobs: Knobs) -> list[float]:
    """Seconds until the session of the one of two hosts that dies is driven again."""
    world = World(knobs)
    world.drive(world.hosts[0])
    world.run(10.0 + world.random.random() * knobs.renew_s)
    world.kill(world.hosts[:1])
    world.run(world.now + knobs.storm_s, lambda: not world.lost)
    return world.takeovers
