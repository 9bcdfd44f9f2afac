"""What a durable step costs while many sessions run in one process, in units of the bare loop.

    python tests/benchmarks/crowd.py [--sessions 64] [--steps 30] [--blocks 9]

The same step as ``step_cost.py``. Blocks of the bare loop, of files and of SQLite are interleaved in one run; a figure is the
time of a whole block divided by all its steps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from step_cost import Model, bare, t_async  # type: ignore[import-not-found]

from lousho_cli import Agent, AgentExecutor, FileStore, SqliteStore
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


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    units, files, rows = [], [], []
    try:
        for block in range(options.blocks):
            unit = bare(300, folder)
            files.append(asyncio.run(crowd(options.sessions, options.steps, FileStore(folder / f"files-{block}"))) / unit)
            store = SqliteStore(folder / f"{block}.db")
            rows.append(asyncio.run(crowd(options.sessions, options.steps, store)) / unit)
            store.close()
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
            }
        )
    )


if __name__ == "__main__":
    main()
