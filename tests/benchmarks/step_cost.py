"""What a durable step costs, in units of the bare loop: two write + fdatasync of the same bytes.

    python tests/benchmarks/step_cost.py [--steps 300] [--blocks 15]

A step is a model turn with one call and its 1 KiB result. Blocks of the bare loop and of lousho are
interleaved in one run, so both see the same disk; the figures are medians of the blocks' ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lousho_cli import Agent, AgentExecutor, FileStore
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.tools.function import function_tool

RESULT = "x" * 1024


def bare(steps: int, folder: Path) -> float:
    """Seconds a step of the bare loop."""
    fd = os.open(folder / "bare.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    begun = time.perf_counter()
    for k in range(steps):
        call = {"role": "assistant", "tool_calls": [{"id": f"c{k}", "name": "t", "args": {"k": k}}]}
        os.write(fd, (json.dumps(call) + "\n").encode())
        os.fdatasync(fd)
        os.write(fd, (json.dumps({"role": "tool", "tool_call_id": f"c{k}", "content": RESULT}) + "\n").encode())
        os.fdatasync(fd)
    took = time.perf_counter() - begun
    os.close(fd)
    return took / steps


class Model:
    """Asks for one call a turn, and ends after ``steps``."""

    name, model = "bench", "bench"

    def __init__(self, steps: int) -> None:
        self.left = steps

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        k = request.turns
        if self.left == 0:
            yield Answer(Message("assistant", "done"), "stop")
            return
        self.left -= 1
        yield Answer(Message("assistant", tool_calls=(ToolCall(f"c{k}", "t", f'{{"k":{k}}}'),)), "tool_calls")


async def t_async(k: int) -> str:
    """Gives 1 KiB."""
    return RESULT


def t_sync(k: int) -> str:
    """Gives 1 KiB."""
    return RESULT


async def durable(steps: int, store: FileStore, session: str, tool: Any, before: int = 0) -> float:
    """Seconds a step of lousho. ``before``: steps the session is given first, not timed."""
    kwargs: dict[str, Any] = {
        "agent": Agent("bench"),
        "tool_registry": [function_tool(tool, name="t")],
        "session_id": session,
        "checkpoint_store": store.checkpoints,
        "max_steps": 10**9,
    }
    if before:
        await AgentExecutor.execute(input="go", provider=Model(before), **kwargs)
    begun = time.perf_counter()
    await AgentExecutor.execute(input="go on", provider=Model(steps), **kwargs)
    return (time.perf_counter() - begun) / steps


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    ratios: dict[str, list[float]] = {"async tool": [], "sync tool": []}
    units = []
    try:
        for block in range(options.blocks):
            store = FileStore(folder / "store")
            unit = bare(options.steps, folder)
            for name, tool in (("async tool", t_async), ("sync tool", t_sync)):
                seconds = asyncio.run(durable(options.steps, store, f"{name.split()[0]}-{block}", tool))
                ratios[name].append(seconds / unit)
            units.append(unit)
        size = sum(f.stat().st_size for f in (folder / "store" / "sessions" / "async-0").rglob("*") if f.is_file())
        plain = bytes_of_messages(folder, options.steps)
    finally:
        shutil.rmtree(folder)
    figures = {name: round(statistics.median(values), 2) for name, values in ratios.items()}
    print(
        json.dumps(
            {"unit_us": round(statistics.median(units) * 1e6, 1), "x_of_unit": figures, "bytes_x_of_messages": round(size / plain, 3)}
        )
    )


def bytes_of_messages(folder: Path, steps: int) -> int:
    """The messages alone, as JSON lines."""
    lines = [json.dumps({"role": "user", "content": "go on"})]
    for k in range(steps):
        lines.append(json.dumps({"role": "assistant", "tool_calls": [{"id": f"c{k}", "name": "t", "arguments": f'{{"k":{k}}}'}]}))
        lines.append(json.dumps({"role": "tool", "tool_call_id": f"c{k}", "content": json.dumps(RESULT)}))
    return sum(len(line) + 1 for line in lines)


if __name__ == "__main__":
    main()
