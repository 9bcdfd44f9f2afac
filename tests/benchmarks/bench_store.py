"""Measures the file store alone: an append, a scan, an opening from a snapshot, a list. Prints JSON.

python tests/benchmarks/bench_store.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import session_from, state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.stores.file.store import FileStore

AT = "2026-01-01T00:00:00.000Z"


def step(seq: int, epoch: int) -> list[r.Batch]:
    """Two batches, two messages: a turn with one call, and its result of 1 KiB."""
    call = ToolCall(f"call_{seq}", "weather", '{"city":"Lisbon"}')
    return [
        r.Batch(seq, epoch, AT, (r.Turn(Message("assistant", "", (call,))), r.Mark(seq), r.ToolStarted(call.id))),
        r.Batch(seq + 1, epoch, AT, (r.ToolFinished(call.id, json.dumps("x" * 1024)), r.Mark(seq))),
    ]


def best(work: Callable[[], object], times: int = 5) -> float:
    """The shortest of several runs, in milliseconds."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return round(1000 * min(taken), 2)


async def fill(store: FileStore, name: str, steps: int, *, durable: bool, snapshot_at: int = 0) -> float:
    """Writes a session; gives microseconds an append."""
    claim = await store.claim(name, "here")
    first = (r.Claimed("here"), r.Created("a"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
    session = fold([r.Batch(1, claim.epoch, AT, first)])
    await store.append(claim, [r.Batch(1, claim.epoch, AT, first)])
    spent = 0.0
    for number in range(steps):
        for batch in step(2 + 2 * number, claim.epoch):
            begun = time.perf_counter()
            await store.append(claim, (batch,), durable=durable)
            spent += time.perf_counter() - begun
            session = fold((batch,), session)
        if number + 1 == snapshot_at:
            await store.save_snapshot(claim, state_from(session))
    await store.save_head(claim, head_of(session))
    await store.release(claim)
    return round(1e6 * spent / (2 * steps), 1)


async def main(folder: Path) -> None:
    store = FileStore(folder / "store")
    figures: dict[str, object] = {
        "append_unsynced_us": await fill(store, "long", 5_000, durable=False),
        "append_durable_us": await fill(store, "durable", 500, durable=True),
    }
    log = (folder / "store/sessions/long/log.jsonl").read_bytes()
    from lousho_cli.stores.file.scan import scan

    figures["json_loads_10k_messages_ms"] = best(lambda: [json.loads(line) for line in log.split(b"\n")[:-1]])
    figures["scan_10k_messages_ms"] = best(lambda: scan(log))
    figures["scan_and_fold_10k_messages_ms"] = best(lambda: fold(scan(log).batches))
    for steps in (500, 50_000):
        await fill(store, f"snap{steps}", steps, durable=False, snapshot_at=steps - 100)
    for steps in (500, 50_000):
        name = f"snap{steps}"

        async def open_one(name: str = name) -> None:
            fresh = FileStore(folder / "store")
            claim = await fresh.claim(name, "here")
            state = await fresh.load_snapshot(name)
            assert state is not None
            found = await fresh.read(name, state.seq)
            fold(found.batches, session_from(state))
            await fresh.release(claim)

        begun = time.perf_counter()
        await open_one()
        figures[f"open_{2 * steps}_messages_from_snapshot_ms"] = round(1000 * (time.perf_counter() - begun), 2)

    sessions = folder / "many/sessions"
    sessions.mkdir(parents=True)
    await fill(store, "one", 2, durable=False)
    for number in range(10_000):
        (sessions / f"s{number}").mkdir()
        for name in ("log.jsonl", "head.json", "owner.1.json"):
            os.link(folder / "store/sessions/one" / name, sessions / f"s{number}" / name)
    many = FileStore(folder / "many")
    figures["list_10k_sessions_ms"] = best(lambda: _drive(many))
    print(json.dumps(figures, indent=1))


def _drive(store: FileStore) -> int:
    try:
        store.heads().send(None)
    except StopIteration as end:
        return len(end.value.heads)
    raise AssertionError("a list never waits")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(main(Path(made)))
