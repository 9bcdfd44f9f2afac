"""Opening a long session: the fold against json.loads over the same lines, and against a snapshot.

    python tests/benchmarks/opening.py [--messages 10000] [--rounds 15] [--kind file|sqlite]

Then two sessions with a snapshot of the same state, one with 1,000 records in its log and one with 100,000.

Everything is read from files each time; rounds are interleaved and medians compared.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import Session
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore

AT = "2026-01-01T00:00:00.000Z"


def batches(messages: int) -> list[r.Batch]:
    """A session of so many messages, in the batches a run writes."""
    begin = (r.Claimed("bench"), r.Created("bench"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
    made = [r.Batch(1, 1, AT, begin)]
    for k in range(messages // 2):
        call = ToolCall(f"c{k}", "t", f'{{"k":{k}}}')
        turn = r.Turn(Message("assistant", tool_calls=(call,)), "tool_calls", "bench", estimate=(10, 10))
        made.append(r.Batch(len(made) + 1, 1, AT, (turn, r.Mark(k + 1), r.ToolStarted(call.id))))
        made.append(r.Batch(len(made) + 1, 1, AT, (r.ToolFinished(call.id, json.dumps("x" * 1024)), r.Mark(k + 1))))
    return made


def store_in(folder: Path, kind: str = "file") -> Any:
    """A store that knows nothing yet."""
    if kind == "file":
        return FileStore(folder)
    folder.mkdir(exist_ok=True)
    return SqliteStore(folder / "bench.db")


async def prepare(folder: Path, messages: int, *, snapshot: bool, notes: int = 0, kind: str = "file") -> None:
    """Writes the session; ``notes`` are records behind it that change nothing of its state."""
    store = store_in(folder, kind)
    claim = await store.claim("long", "bench")
    written = batches(messages)
    written += [r.Batch(len(written) + 1 + k, 1, AT, (r.Note("bench", f"note {k}"),)) for k in range(notes)]
    for first in range(0, len(written), 1000):
        await store.append(claim, written[first : first + 1000])
    if snapshot:
        await store.save_snapshot(claim, state_from(await read_session(store, "long")))
    await store.release(claim)


def open_session(folder: Path) -> Session:
    """Opens it with a store that knows nothing yet."""
    return asyncio.run(read_session(FileStore(folder), "long"))


async def claimed(store: Any) -> Session:
    """Opens it as a host does that takes it."""
    claim = await store.claim("long", "bench")
    session = await read_session(store, "long")
    await store.release(claim)
    return session


def same_state(folder: Path, kind: str, rounds: int) -> dict[str, float]:
    """Milliseconds to open each of two sessions that differ only in how much stands before their snapshot."""
    for name, notes in (("short", 1_000 - 500), ("long", 100_000 - 500)):
        asyncio.run(prepare(folder / name, 200, snapshot=True, notes=notes, kind=kind))
    took: dict[str, list[float]] = {"short": [], "long": []}
    databases = {name: store_in(folder / name, kind) for name in took if kind == "sqlite"}  # opening one is not opening a session
    for _ in range(rounds * 4):
        for name, values in took.items():
            gc.collect()
            begun = time.perf_counter()
            asyncio.run(claimed(databases.get(name) or store_in(folder / name)))
            values.append(time.perf_counter() - begun)
    ms = {name: statistics.median(values) * 1e3 for name, values in took.items()}
    return {"1000_ms": round(ms["short"], 2), "100000_ms": round(ms["long"], 2), "x": round(ms["long"] / ms["short"], 2)}


def main() -> None:
    """Prints one JSON object: milliseconds, and each as a multiple of json.loads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--kind", choices=("file", "sqlite"), default="file", help="for the two with a snapshot of the same state")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        asyncio.run(prepare(folder / "plain", options.messages, snapshot=False))
        asyncio.run(prepare(folder / "snap", options.messages, snapshot=True))
        log = folder / "plain" / "sessions" / "long" / "log.jsonl"
        ways: dict[str, Callable[[], object]] = {
            "json.loads": lambda: [json.loads(line) for line in log.read_bytes().splitlines()],
            "fold": lambda: open_session(folder / "plain"),
            "snapshot": lambda: open_session(folder / "snap"),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                gc.collect()
                begun = time.perf_counter()
                kept = way()
                took[name].append(time.perf_counter() - begun)
                del kept
        same = same_state(folder, options.kind, options.rounds)
    finally:
        shutil.rmtree(folder)
    ms = {name: statistics.median(values) * 1e3 for name, values in took.items()}
    shown = {name: {"ms": round(value, 1), "x": round(value / ms["json.loads"], 2)} for name, value in ms.items()}
    print(json.dumps({**shown, "same_state": same}))


if __name__ == "__main__":
    main()
