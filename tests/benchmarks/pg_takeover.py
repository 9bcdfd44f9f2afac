"""How long it takes from ``kill -9`` of a worker in the middle of a call until another one has its session, beside the lease.

    python tests/benchmarks/pg_takeover.py [--kills 10] [--leases 2000,6000]

Each killed worker drives one session; another worker is there, with one of its own. Once all are on one machine, where the lock that
the dead one held is seen to be free; then the killed ones are on another, where nothing but the lease tells. A kill comes at a moment
of its own between two renewals of the lease, of which there are three in its length. Prints one JSON object with milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from pg_workers import Workers, begin  # type: ignore[import-not-found]

from tests.shared.pg_server import Server

AT_ONCE = 5
PATIENCE_S = 60.0
LOOK_EVERY_S = 0.005
DRIVEN = """SELECT l.id, o.pid FROM lousho.logs l JOIN lousho.owners o ON o.token = l.owner WHERE l.id = ANY(%s) AND EXISTS (
    SELECT 1 FROM lousho.records r WHERE r.no = l.no AND r.line LIKE '%%"lousho.tool_started"%%')"""
OWNED = "SELECT l.id, o.pid FROM lousho.logs l JOIN lousho.owners o ON o.token = l.owner WHERE l.id = ANY(%s)"


def until(look: Callable[[], Any]) -> Any:
    """What ``look`` gives once it gives something."""
    ends = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(LOOK_EVERY_S)
    return found


def measure(connection: Any, url: str, lease_ms: int, machine: str, chance: random.Random) -> list[float]:
    """Milliseconds of each takeover, of some workers that are killed one after the other."""

    def drivers(statement: str, names: Sequence[str]) -> dict[str, int] | None:
        found = dict(connection.execute(statement, (list(names),)).fetchall())
        return found if len(found) == len(names) else None

    names = [f"s{time.monotonic_ns()}-{number}" for number in range(AT_ONCE)]
    own = f"{names[0]}-own"
    with tempfile.TemporaryDirectory() as place:
        workers = Workers(url, Path(place))
        try:
            victims = {victim.pid: victim for victim in (workers.start(1, lease_ms, machine) for _ in names)}
            begin(url, names)
            drives = until(lambda: drivers(DRIVEN, names))
            begin(url, [own])
            workers.start(AT_ONCE + 1, lease_ms)
            until(lambda: drivers(DRIVEN, [own]))
            killed, took = {}, {}
            for name in names:
                time.sleep(chance.random() * lease_ms / 3000)
                victims[drives[name]].kill()
                killed[name] = time.perf_counter()
                _note(drivers(OWNED, names), drives, killed, took)
            until(lambda: _note(drivers(OWNED, names), drives, killed, took))
            workers.let_go()
            until(lambda: not connection.execute(OWNED, ([*names, own],)).fetchall())
        finally:
            workers.end()
    return list(took.values())


def _note(now: dict[str, int] | None, drives: dict[str, int], killed: dict[str, float], took: dict[str, float]) -> bool:
    """Notes whose session is another's now; whether that is so of all."""
    for name, pid in (now or {}).items():
        if name in killed and name not in took and pid != drives[name]:
            took[name] = (time.perf_counter() - killed[name]) * 1000
    return len(took) == len(drives)


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--leases", default="2000,6000")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 - moments, nothing secret
    figures: dict[str, Any] = {}
    server = Server()
    try:
        import psycopg

        with psycopg.connect(server.url, autocommit=True) as connection:
            for lease_ms in (int(one) for one in options.leases.split(",")):
                for label, machine in (("same_machine", "here"), ("another_machine", "there")):
                    took: list[float] = []
                    while len(took) < options.kills:
                        took += measure(connection, server.url, lease_ms, machine, chance)
                    figures[f"lease_{lease_ms}_{label}"] = {
                        "least": round(min(took)),
                        "median": round(statistics.median(took)),
                        "most": round(max(took)),
                    }
    finally:
        server.remove()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
