"""One of several owners that fight for a log: claims when it can, appends, notes what was acknowledged."""

from __future__ import annotations

import asyncio
import os
import random
import sys

from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError, SessionBusyError
from lousho_cli.stores.file.store import FileStore

TTL_MS = 200


async def own(store: FileStore, notes: int) -> None:
    claim = await store.claim("shared", f"host-{os.getpid()}", TTL_MS)
    try:
        head = (await store.read("shared")).head
        for number in range(1, random.randrange(2, 60)):
            text = f"{os.getpid()}-{claim.epoch}-{number}"
            batch = r.Batch(head + number, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("w", text),))
            await store.append(claim, (batch,), durable=random.random() < 0.5)
            os.write(notes, f"{text}\n".encode())
            await asyncio.sleep(random.random() * 0.004)
    finally:
        await store.release(claim)


async def main() -> None:
    store = FileStore(sys.argv[1])
    notes = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        try:
            await own(store, notes)
        except (SessionBusyError, OwnershipLostError):
            await asyncio.sleep(random.random() * 0.02)


if __name__ == "__main__":
    asyncio.run(main())
