"""A lead with two sub-agents at once, one of which asks a person and has a sub-agent of its own; to its end, from wherever it stands.

    python sub_agent_process.py STORE EFFECTS

EFFECTS gets a line when a tool starts and one for each model call. A script, for real processes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tools.schema import SchemaTool

EFFECTS = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def effect(*words: object) -> None:
    os.writev(EFFECTS, [(" ".join(map(str, words)) + "\n").encode()])


class Model(ScriptedProvider):
    def __init__(self, who: str, *turns: Any) -> None:
        super().__init__(turns)
        self._who = who

    def stream(self, request: Any) -> Any:
        effect("model", self._who, next(m.text for m in request.messages if m.role == "user"), request.turns)
        return super().stream(request)


def tool(name: str, **options: Any) -> SchemaTool:
    async def run(args: Any, ctx: Any) -> str:
        effect("start", ctx.tool_call_id)
        await asyncio.sleep(0)
        return f"{name} of {ctx.tool_call_id}"

    return SchemaTool(name, name, {"type": "object"}, run, **options)


def calls(text: str, *names: Any) -> dict[str, Any]:
    made = [name if isinstance(name, tuple) else (name, {}) for name in names]
    return {"text": text, "tool_calls": [{"name": name, "args": args, "id": f"{text}{n}"} for n, (name, args) in enumerate(made)]}


note, book = tool("note"), tool("book", needs_approval=True)
DEEP = SubAgent({"name": "deep"}, provider=Model("deep", calls("d", "note", "book"), "deep end"), tools=[note, book])
SCOUT = SubAgent(
    {"name": "scout", "prompt": "Look."},
    provider=Model("scout", calls("s", "note"), calls("t", ("deep", {"input": "further"})), "scout end"),
    tools=[note],
    subagents={"deep": DEEP},
)
CLERK = SubAgent({"name": "clerk"}, provider=Model("clerk", calls("c", "note", "note"), calls("e", "note"), "clerk end"), tools=[note])
LEAD = Model("lead", calls("x", ("scout", {"input": "a"}), ("clerk", {"input": "b"})), "all done")
SUBAGENTS = {"scout": SCOUT, "clerk": CLERK}


async def main() -> None:
    store = FileStore(sys.argv[1])
    while not (session := await read_session(store, "s")).ended:
        if session.wait is None:
            await AgentExecutor.execute(
                {"name": "lead", "prompt": "Lead."},
                "go",
                LEAD,
                session_id="s",
                checkpoint_store=store.checkpoints,
                approval_store=store.approvals,
                subagents=SUBAGENTS,
            )
        else:
            decision = {"id": session.wait.id, "approved": True}
            await resume_after_approval(decision, store.approvals, [], LEAD, {"subagents": SUBAGENTS}, store.checkpoints)


asyncio.run(main())
