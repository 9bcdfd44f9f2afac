"""Decides one approval once told to. For tests in which several processes come at the same moment.

    python deciding_process.py KIND FOLDER APPROVAL

Prints ``ready``, waits for a line, decides, and prints how that ended. The tool adds a line to ``FOLDER/ran``.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from lousho_cli import FileStore, ScriptedProvider, SqliteStore, function_tool, resume_after_approval
from lousho_cli.errors import SDKError

CALL = {"tool_calls": [{"name": "pay", "args": {}, "id": "call_pay"}]}


def store_of(kind: str, folder: Path) -> Any:
    return FileStore(folder / ".lousho") if kind == "file" else SqliteStore(folder / "lousho.db")


def tool_in(folder: Path) -> Any:
    def pay() -> str:
        """Pays."""
        with open(folder / "ran", "a") as file:
            file.write(f"{os.getpid()}\n")
        return "paid"

    return function_tool(pay, needs_approval=True)


async def main(kind: str, folder: Path, approval_id: str) -> str:
    store = store_of(kind, folder)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    try:
        decision = {"id": approval_id, "approved": True}
        result = await resume_after_approval(
            decision, store.approvals, [tool_in(folder)], ScriptedProvider([CALL, "done"]), None, store.checkpoints
        )
    except SDKError as error:
        return error.code
    return result.text


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])), flush=True)
