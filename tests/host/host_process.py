"""A host in a process of its own, told what to do by lines on stdin: one JSON line in, one JSON line out.

    python host_process.py KIND PLACE [TTL_MS]

Its model calls one tool and then says its process's name. The tool says on stdout that it began, and ends once there is a file ``go``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from lousho_cli.errors import SDKError
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.define import define_tool


def open_store(kind: str, place: Path) -> Any:
    if kind == "file":
        from lousho_cli.stores.file.store import FileStore

        return FileStore(place / ".lousho")
    if kind == "postgres":
        from lousho_cli.stores.postgres.store import PostgresStore

        return PostgresStore(os.environ["HOST_PROCESS_STORE"])
    from lousho_cli.stores.sqlite.store import SqliteStore

    return SqliteStore(place / "lousho.db")


def harness(place: Path, name: str) -> Any:
    async def work() -> str:
        print(json.dumps("began"), flush=True)
        while not os.path.exists(place / "go"):
            await asyncio.sleep(0.005)
        return "worked"

    turns: list[Any] = []
    for _ in range(5):
        turns += [{"tool_calls": [{"name": "work", "args": {}, "id": "w"}]}, f"By {name}."]
    return define_harness("acme/worker", ScriptedProvider(turns), tools=[define_tool(name="work", execute=work, replay="safe")])


class Commands:
    def __init__(self, kind: str, place: Path, ttl_ms: int) -> None:
        self.host = create_harness_host(
            {"log": open_store(kind, place)}, ownership={"expires_after_ms": ttl_ms, "renew_every_ms": ttl_ms // 10}
        )
        self.harness = harness(place, "another")

    async def open(self) -> Any:
        self.session = await self.host.open(self.harness, "t")

    async def send(self, id: str) -> Any:
        return (await self.session.send("Go", input_id=id)).status

    async def settled(self, id: str) -> Any:
        ended = await self.session.settled(id)
        return [ended.outcome, ended.text]

    async def close(self) -> Any:
        await self.host.close(recoverable=True)


async def main() -> None:
    commands = Commands(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, arguments = json.loads(line)
        try:
            answer = await getattr(commands, name)(**arguments)
        except SDKError as error:
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
