"""A process that runs session ``s`` of a file store, for another that looks on.

python telling_process.py FOLDER talk      two answers that come slowly, a call between them; prints its events
python telling_process.py FOLDER hang      an answer, and a call that never ends
python telling_process.py FOLDER run       the same, with a call that ends
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from lousho_cli import AgentExecutor, FileStore, ScriptedProvider, function_tool
from lousho_cli.domain.events import Event, line_of

folder, what = Path(sys.argv[1]), sys.argv[2]
store = FileStore(folder / ".lousho")
delay = {"delay": 0.5} if what == "talk" else {}


async def work() -> str:
    if what == "hang":
        await asyncio.Event().wait()
    return "worked"


def told(event: Event) -> None:
    if what == "talk":
        print(json.dumps(line_of(event)), flush=True)


turns: list[Any] = [
    {"text": "one piece after another, " * 8, "tool_calls": [{"id": "c1", "name": "work"}], **delay},
    {"text": "and then the end. " * 8, **delay},
]
asyncio.run(
    AgentExecutor.execute(
        {"name": "agent", "prompt": "Be brief."},
        "go",
        ScriptedProvider(turns),
        [function_tool(work, replay="safe")],
        session_id="s",
        checkpoint_store=store.checkpoints,
        approval_store=store.approvals,
        on_event=told,
    )
)
