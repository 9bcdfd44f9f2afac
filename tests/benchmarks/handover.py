"""How long an input takes to reach the owner of its thread in another process: from sending it until the owner has it in the log.

    python tests/benchmarks/handover.py [--rounds 100] [--kind file|sqlite]

The owner is in the middle of a tool call meanwhile, as it is when inputs have to wait for it. Prints one JSON object with milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lousho_cli.domain import records as r  # noqa: E402 - the tests' helpers are found from the root
from lousho_cli.host.host import create_harness_host  # noqa: E402
from tests.host.host_process import harness, open_store  # noqa: E402


async def measure(kind: str, place: Path, rounds: int) -> list[float]:
    """Milliseconds of each hand-over."""
    store = open_store(kind, place)
    host = create_harness_host({"log": store})
    session = await host.open(harness(place, "bench"), "t")
    took = []
    for number in range(rounds):
        seq = (await store.read("t")).head
        begun = time.perf_counter()
        await session.send("More", input_id=f"i{number}")
        while not _has(await store.read("t", seq), f"i{number}"):
            await asyncio.sleep(0)
        took.append((time.perf_counter() - begun) * 1e3)
        await asyncio.sleep(0.03 * (number % 7) / 7)  # so that no two begin at the same place between two looks
    await host.close()
    return took


def _has(found: Any, input_id: str) -> bool:
    return any(isinstance(one, r.InputReceived) and one.id == input_id for batch in found.batches for one in batch.records)


def main() -> None:
    """Starts an owner and sends inputs to it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--kind", choices=("file", "sqlite"), default="file")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp())
    owner = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "host" / "host_process.py"), options.kind, str(place), "30000"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    try:
        for command, arguments in (("open", {}), ("send", {"id": "first"})):
            owner.stdin.write(json.dumps([command, arguments]) + "\n")
            owner.stdin.flush()
            owner.stdout.readline()
        owner.stdout.readline()  # its tool began
        took = asyncio.run(measure(options.kind, place, options.rounds))
    finally:
        owner.kill()
        owner.wait()
        shutil.rmtree(place)
    ranked = sorted(took)
    print(json.dumps({"median_ms": round(statistics.median(took), 2), "p90_ms": round(ranked[len(ranked) * 9 // 10], 2)}))


if __name__ == "__main__":
    main()
