"""Whether a step costs the same late in a session as early: at message 100, 10,000 and 100,000.

    python tests/benchmarks/flatness.py [--steps 300] [--sizes 100 10000 100000]

One session grows in one run; what is timed is the time between model calls, so opening and the end
are left out. Medians of steps are compared, as one slow sync would hide everything in a mean.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from lousho_cli import Agent, AgentExecutor, FileStore
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.tools.function import function_tool

RESULT = "x" * 1024


class Clocked:
    """Asks for a call a turn and notes when it was asked."""

    name, model = "bench", "bench"

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.asked: list[float] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        self.asked.append(time.perf_counter())
        k = request.turns
        if k >= self.turns:
            yield Answer(Message("assistant", "done"), "stop")
            return
        yield Answer(Message("assistant", tool_calls=(ToolCall(f"c{k}", "t", f'{{"k":{k}}}'),)), "tool_calls")


async def t(k: int) -> str:
    """Gives 1 KiB."""
    return RESULT


def main() -> None:
    """Prints one JSON object: microseconds a step at each size, and each as a multiple of the first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 10_000, 100_000])
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    model = Clocked(max(options.sizes) // 2 + options.steps)
    try:
        asyncio.run(
            AgentExecutor.execute(
                Agent("bench"),
                "go",
                model,
                [function_tool(t)],
                session_id="long",
                checkpoint_store=FileStore(folder).checkpoints,
                max_steps=10**9,
            )
        )
    finally:
        shutil.rmtree(folder)
    costs = {}
    for size in options.sizes:
        asked = model.asked[size // 2 : size // 2 + options.steps + 1]
        costs[size] = statistics.median(b - a for a, b in zip(asked, asked[1:], strict=False)) * 1e6
    first = costs[options.sizes[0]]
    print(json.dumps({size: {"us_a_step": round(cost), "x": round(cost / first, 2)} for size, cost in costs.items()}))


if __name__ == "__main__":
    main()
