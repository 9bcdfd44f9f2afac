"""Runs a store by commands on stdin: one JSON line in, one JSON line out. For tests with two processes."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from lousho_cli.core.trimming import base_batch, trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.errors import SDKError
from lousho_cli.ports.sessions import read_session

AT = "2026-01-01T00:00:00.000Z"


def open_store(kind: str, place: str) -> Any:
    if kind == "file":
        from lousho_cli.stores.file.store import FileStore

        return FileStore(Path(place) / ".lousho")
    if kind == "sqlite":
        from lousho_cli.stores.sqlite.store import SqliteStore

        return SqliteStore(Path(place) / "lousho.db")
    if kind == "postgres":
        from lousho_cli.stores.postgres.store import PostgresStore

        return PostgresStore(place)
    raise SystemExit(f"unknown kind {kind}")


class Commands:
    def __init__(self, store: Any) -> None:
        self.store = store
        self.claimed: Any = None

    async def claim(self, log: str, ttl_ms: int = 30_000) -> Any:
        self.claimed = await self.store.claim(log, "other-host", ttl_ms)
        return self.claimed.epoch

    async def append(self, text: str, durable: bool = True) -> Any:
        head = (await self.store.read(self.claimed.log_id)).head
        batch = r.Batch(head + 1, self.claimed.epoch, AT, (r.Note("other", text),))
        await self.store.append(self.claimed, (batch,), durable=durable)
        return batch.seq

    async def trim(self) -> Any:
        session = await read_session(self.store, self.claimed.log_id)
        await self.store.trim(self.claimed, base_batch(trimmed_state(session), self.claimed.epoch, self.claimed.host))

    async def heads(self) -> Any:
        return [head.seq for head in (await self.store.heads()).heads]

    async def overdue(self) -> Any:
        return self.claimed.overdue

    async def release(self) -> Any:
        await self.store.release(self.claimed)


async def main() -> None:
    commands = Commands(open_store(sys.argv[1], sys.argv[2]))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, arguments = json.loads(line)
        try:
            answer = await getattr(commands, name)(**arguments)
        except SDKError as error:
            answer = {"error": type(error).__name__, "detail": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
