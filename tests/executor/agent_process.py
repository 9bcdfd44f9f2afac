"""A process with an agent made by ``create_agent`` over a file store: ``send`` and ``turn`` hang in a tool until they are killed.

Its words: the folder, then what to do. Every start of a tool is a line of ``ran.txt``; what came of it is the last line printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from lousho_cli import FileStore, ScriptedProvider, ToolContext, create_agent, define_tool

folder, way = Path(sys.argv[1]), sys.argv[2]


class Charge(BaseModel):
    amount: int


def note(ctx: ToolContext) -> None:
    key = ctx.context.run.idempotency_key("charge", ctx.tool_call_id)
    with (folder / "ran.txt").open("a") as file:
        file.write(json.dumps([ctx.tool_name, ctx.tool_call_id, ctx.rerun, ctx.idempotency_key, key, ctx.context.run.id]) + "\n")


@define_tool(input=Charge, needs_approval=lambda args: args.amount > 100)
async def charge(args: Charge, ctx: ToolContext) -> dict[str, Any]:
    """Charge the customer."""
    note(ctx)
    if way in ("send", "turn", "approve"):
        await asyncio.Event().wait()
    return {"charged": args.amount}


@define_tool
def look(ctx: ToolContext) -> str:
    """Look it up."""
    note(ctx)
    return "found"


def calls(amount: int) -> dict[str, Any]:
    wanted = [{"id": f"c{amount}-1", "name": "look"}, {"id": f"c{amount}-2", "name": "charge", "args": {"amount": amount}}]
    return {"tool_calls": wanted}


PROVIDERS = {"turn": [{"text": "hello"}, calls(20), {"text": "done"}], "large": [calls(200), {"text": "done"}]}


async def main() -> None:
    kind = sys.argv[3] if len(sys.argv) > 3 else "turn" if (folder / "turn").exists() or way == "turn" else "send"
    provider = ScriptedProvider(PROVIDERS.get(kind, [calls(10), {"text": "done"}]))
    agent = create_agent(provider, store=FileStore(folder / ".lousho"), tools=[look, charge], tool_concurrency=1, on_agent_drift="error")
    session = agent.session("s")
    if way == "turn":
        (folder / "turn").touch()
        await session.send("hi")
        result: Any = await session.send("charge me")
    elif way in ("send", "pause"):
        result = await agent.send("charge me", "s")
    elif way in ("approve", "approved"):
        (pending,) = await agent.approvals.list()
        result = await agent.approvals.resolve(pending.id, True)
    elif way == "session-resume":
        result = await session.resume()
    else:
        result = await agent.resume("s")
    print(
        json.dumps(None if result is None else [result.text, result.finish_reason, [m.text for m in result.messages if m.role == "tool"]])
    )


asyncio.run(main())
