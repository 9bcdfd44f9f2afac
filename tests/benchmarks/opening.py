"""Opening a long session: the fold against json.loads over the same lines, and against a snapshot.

    python tests/benchmarks/opening.py [--messages 10000] [--rounds 15]

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

from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import Session
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore

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


async def prepare(folder: Path, messages: int, *, snapshot: bool) -> None:
    """Writes the session."""
    store = FileStore(folder)
    claim = await store.claim("long", "bench")
    await store.append(claim, batches(messages))
    if snapshot:
        await store.save_snapshot(claim, state_from(await read_session(store, "long")))
    await store.release(claim)


def open_session(folder: Path) -> Session:
    """Opens it with a store that knows nothing yet."""
    return asyncio.run(read_session(FileStore(folder), "long"))


def main() -> None:
    """Prints one JSON object: milliseconds, and each as a multiple of json.loads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
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
    finally:
        shutil.rmtree(folder)
    ms = {name: statistics.median(values) * 1e3 for name, values in took.items()}
    print(json.dumps({name: {"ms": round(value, 1), "x": round(value / ms["json.loads"], 2)} for name, value in ms.items()}))


if __name__ == "__main__":
    main()
