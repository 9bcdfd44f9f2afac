"""A process with a host over a file store that kills itself in the middle of a turn: in a tool, or once part of an answer is in the log.

Its words: the store's folder, then ``never``, ``safe`` (in a tool of that replay) or ``answer``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lousho_cli import FileStore, ScriptedProvider, define_tool
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.provider import ModelRequest, ReasoningDelta, TextDelta

folder, way = Path(sys.argv[1]), sys.argv[2]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def pay() -> str:
    with (folder.parent / "ran.txt").open("a") as file:
        file.write("paid\n")
    die()
    return "unreachable"


class Talking:
    """Says half an answer, and dies once that is in the log."""

    name, model = "talking", "talking"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        yield ReasoningDelta("unsigned")
        yield TextDelta("It was a dark ")
        while b"lousho.partial" not in b"".join(path.read_bytes() for path in folder.rglob("log.jsonl")):
            await asyncio.sleep(0.005)
        die()
        yield TextDelta("unreachable")


async def main() -> None:
    tool = define_tool(name="pay", description="Pays.", execute=pay, replay=None if way == "answer" else way)
    model: Any = (
        Talking() if way == "answer" else ScriptedProvider([{"tool_calls": [{"id": "c1", "name": "pay"}]}, {"text": "unreachable"}])
    )
    harness = define_harness("acme/assistant", model, tools=[tool], durability={"continue_cut_off": True})
    session = await create_harness_host({"log": FileStore(folder)}).open(harness, "t")
    await session.send("Hi", input_id="a")
    await session.settled("a")


asyncio.run(main())
