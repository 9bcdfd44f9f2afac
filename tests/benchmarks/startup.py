"""Start-up and listing, as whole processes, in units of a bare ``python -c pass``.

    python tests/benchmarks/startup.py [--rounds 11] [--sessions 10000]

Rounds are interleaved and minima compared. Byte code is written first, as an installed package has it.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lousho_cli
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, user
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore

AT = "2026-01-01T00:00:00.000Z"
PACKAGE = Path(lousho_cli.__file__).parent


async def fill(folder: Path, sessions: int) -> None:
    """Writes finished sessions with their heads, as runs leave them."""
    store = FileStore(folder)
    for k in range(sessions):
        claim = await store.claim(f"s-{k}", "bench")
        begin = (r.Claimed("bench"), r.Created("bench"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
        end = (r.Turn(Message("assistant", "done")), r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed"))
        await store.append(claim, (r.Batch(1, claim.epoch, AT, begin), r.Batch(2, claim.epoch, AT, end)), durable=False)
        await store.save_head(claim, head_of(await read_session(store, f"s-{k}")))
        await store.release(claim)


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """How long one process takes."""
    begun = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Prints one JSON object."""
    import asyncio

    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--sessions", type=int, default=10_000)
    options = parser.parse_args()
    compileall.compile_dir(PACKAGE, quiet=1)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(PACKAGE.parent)
    folder = Path(tempfile.mkdtemp())
    asyncio.run(fill(folder, options.sessions))
    lousho = [sys.executable, "-m", "lousho_cli"]
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "version": [*lousho, "--version"],
        "help": [*lousho, "--help"],
        "list": [*lousho, "--store", str(folder), "list"],
    }
    took: dict[str, list[float]] = {name: [] for name in commands}
    try:
        for _ in range(options.rounds):
            for name, command in commands.items():
                took[name].append(seconds(command, environment))
    finally:
        shutil.rmtree(folder)
    best = {name: min(values) for name, values in took.items()}
    figures = {name: {"ms": round(value * 1e3, 1), "x": round(value / best["python"], 2)} for name, value in best.items()}
    per_session = (best["list"] - best["help"]) / options.sessions * 1e6
    print(json.dumps({**figures, "list_us_a_session_over_help": round(per_session, 1)}))


if __name__ == "__main__":
    main()
