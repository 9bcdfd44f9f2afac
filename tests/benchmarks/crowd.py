"""What a durable step costs while many sessions run in one process, in units of the bare loop.

    python tests/benchmarks/crowd.py [--sessions 64] [--steps 30] [--blocks 9]

The same step as ``step_cost.py``. Blocks of the bare loop, of files and of SQLite are interleaved in one run; a figure is the
time of a whole block divided by all its steps.

The unit is two syncs of one session, and 64 sessions share theirs: what is left is the processor's. So there are two more figures:
``bare_rows_x_of_unit`` is the least that anybody pays who lets 64 tasks append the same bytes to one SQLite file, two rows a step,
each waited for, all that wait in one synced transaction; and ``memory_x_of_unit`` is lousho's step on a store that only remembers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from step_cost import RESULT, Model, bare, t_async  # type: ignore[import-not-found]

from lousho_cli import Agent, AgentExecutor, FileStore, MemoryStore, SqliteStore
from lousho_cli.tools.function import function_tool


async def crowd(sessions: int, steps: int, store: Any) -> float:
    """Seconds a step, over all sessions."""
    tools = [function_tool(t_async, name="t")]

    async def one(name: str) -> None:
        await AgentExecutor.execute(
            agent=Agent("bench"),
            input="go on",
            provider=Model(steps),
            tool_registry=tools,
            session_id=name,
            checkpoint_store=store.checkpoints,
            max_steps=10**9,
        )

    begun = time.perf_counter()
    await asyncio.gather(*(one(f"s{number}") for number in range(sessions)))
    return (time.perf_counter() - begun) / (sessions * steps)


async def bare_rows(sessions: int, steps: int, file: Path) -> float:
    """Seconds a step of tasks that append the bytes of a step to one SQLite file through one thread, and do nothing else."""
    waiting: SimpleQueue[tuple[str, bytes, asyncio.Future[None]] | None] = SimpleQueue()
    loop = asyncio.get_running_loop()
    ready = threading.Event()

    def told(futures: list[asyncio.Future[None]]) -> None:
        for future in futures:
            future.set_result(None)

    def write() -> None:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE rows (no INTEGER PRIMARY KEY, log TEXT, line BLOB)")
        ready.set()
        while (first := waiting.get()) is not None:
            batch = [first]
            while not waiting.empty() and (more := waiting.get()) is not None:
                batch.append(more)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO rows (log, line) VALUES (?, ?)", [(log, line) for log, line, _ in batch])
            connection.execute("COMMIT")
            loop.call_soon_threadsafe(told, [future for _, _, future in batch])
        connection.close()

    async def one(name: str) -> None:
        for k in range(steps):
            call = {"role": "assistant", "tool_calls": [{"id": f"c{k}", "name": "t", "args": {"k": k}}]}
            for message in (call, {"role": "tool", "tool_call_id": f"c{k}", "content": RESULT}):
                future = loop.create_future()
                waiting.put((name, json.dumps(message).encode(), future))
                await future

    thread = threading.Thread(target=write)
    thread.start()
    ready.wait()
    begun = time.perf_counter()
    await asyncio.gather(*(one(f"s{number}") for number in range(sessions)))
    took = time.perf_counter() - begun
    waiting.put(None)
    thread.join()
    return took / (sessions * steps)


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    units, files, rows, bare_ones, memories = [], [], [], [], []
    try:
        for block in range(options.blocks):
            unit = bare(300, folder)
            files.append(asyncio.run(crowd(options.sessions, options.steps, FileStore(folder / f"files-{block}"))) / unit)
            store = SqliteStore(folder / f"{block}.db")
            rows.append(asyncio.run(crowd(options.sessions, options.steps, store)) / unit)
            store.close()
            bare_ones.append(asyncio.run(bare_rows(options.sessions, options.steps, folder / f"bare-{block}.db")) / unit)
            memories.append(asyncio.run(crowd(options.sessions, options.steps, MemoryStore())) / unit)
            units.append(unit)
    finally:
        shutil.rmtree(folder)
    print(
        json.dumps(
            {
                "sessions": options.sessions,
                "unit_us": round(statistics.median(units) * 1e6, 1),
                "file_x_of_unit": round(statistics.median(files), 2),
                "sqlite_x_of_unit": round(statistics.median(rows), 2),
                "bare_rows_x_of_unit": round(statistics.median(bare_ones), 2),
                "memory_x_of_unit": round(statistics.median(memories), 2),
            }
        )
    )


if __name__ == "__main__":
    main()
