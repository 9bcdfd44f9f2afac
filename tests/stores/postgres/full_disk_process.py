"""A server on a small disk of its own, which gets full: twice, under a table and under the log of the server itself.

Run by ``test_disk_full.py`` where the temporary folder is that disk. Prints what happened as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from pg_server import Server

from lousho_cli.domain import records as r
from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres import database
from lousho_cli.stores.postgres.store import PostgresStore

BALLAST = Path(tempfile.gettempdir()) / "ballast"
AT = "2026-01-01T00:00:00.000Z"


def fill() -> None:
    block = bytes(1 << 16)
    with BALLAST.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(block):
            pass


class Writer:
    """One session, and what was acknowledged of it."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.acknowledged: list[int] = []

    async def begin(self) -> None:
        self.claim = await self.store.claim("trip", "here")

    async def write(self, size: int) -> None:
        seq = self.claim.head + 1
        await self.store.append(self.claim, [r.Batch(seq, self.claim.epoch, AT, (r.Note("n", secrets.token_hex(size)),))])
        self.acknowledged.append(seq)

    async def until_refused(self, size: int) -> str:
        try:
            for _ in range(5000):
                await self.write(size)
        except StorageError as error:
            return str(error)
        return "never"

    async def kept(self) -> list[int]:
        return [one.seq for one in (await self.store.read("trip")).batches]

    async def again(self) -> None:
        """A new claim, once there is room; what was asked for last may stand there although nobody was told."""
        BALLAST.unlink()
        await self.store.release(self.claim)
        while await self.store.owner("trip") is not None:
            await asyncio.sleep(0.01)  # what could not be given back while the server was away is given back behind our back
        await self.begin()
        self.acknowledged = await self.kept()


async def scenario(server: Server) -> dict[str, Any]:
    said: dict[str, Any] = {}
    store = PostgresStore(server.url)
    writer = Writer(store)
    await writer.begin()
    await writer.write(100)
    fill()
    said["table"] = await writer.until_refused(20_000)
    said["kept"] = await writer.kept() == writer.acknowledged
    await writer.again()
    await writer.write(100)
    fill()
    with contextlib.suppress(psycopg.OperationalError):
        server.sql("SELECT pg_switch_wal()")
    said["log"] = await writer.until_refused(5000)
    assert server.process is not None
    if server.process.poll() is None:
        server.kill()
    acknowledged = writer.acknowledged
    with contextlib.suppress(StorageError):
        await store.release(writer.claim)
    BALLAST.unlink()
    server.start()
    said["kept behind a crash"] = (await writer.kept())[: len(acknowledged)] == acknowledged
    BALLAST.touch()
    await writer.again()
    await writer.write(100)
    said["goes on"] = await writer.kept() == writer.acknowledged
    store.close()
    return said


def main() -> None:
    database.Database.now.__kwdefaults__["patience_s"] = 0.5
    server = Server("checkpoint_timeout=1h", "min_wal_size=32MB", "max_wal_size=32MB")
    try:
        print(json.dumps(asyncio.run(scenario(server))))
    finally:
        server.remove()


if __name__ == "__main__":
    main()
