"""A process that runs a session of a file store and hangs in the tool ``hang`` until it is killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from lousho_cli import AgentExecutor, FileStore, ScriptedProvider, function_tool

folder = Path(sys.argv[1])
store = FileStore(folder / ".lousho")


def note(what: str) -> None:
    with (folder / "ran.txt").open("a") as file:
        file.write(what + "\n")


def book(tool_context: Any) -> str:
    note(f"book {tool_context.tool_call_id}")
    return "booked"


async def hang(tool_context: Any) -> str:
    note(f"hang {tool_context.tool_call_id}")
    await asyncio.Event().wait()
    return "never"


# Untyped on purpose: that is how a parameter is taken for the context.
book.__annotations__ = hang.__annotations__ = {}

asyncio.run(
    AgentExecutor.execute(
        {"name": "agent", "prompt": "Be brief."},
        "go",
        ScriptedProvider([{"tool_calls": [{"id": "c1", "name": "book"}, {"id": "c2", "name": "hang"}]}]),
        [function_tool(book), function_tool(hang)],
        session_id="s",
        checkpoint_store=store.checkpoints,
        approval_store=store.approvals,
        tool_concurrency=1,
    )
)
