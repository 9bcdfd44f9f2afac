"""Claims a log, appends some batches and says which were acknowledged. A tracer stops it somewhere in between."""

from __future__ import annotations

import asyncio
import os
import sys

from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError, SessionBusyError
from lousho_cli.stores.file.store import FileStore


async def main() -> None:
    store = FileStore(sys.argv[1])
    try:
        claim = await store.claim("trip", "stopped", 100)
        head = (await store.read("trip")).head
        for number in range(1, 7):
            text = f"stopped-{number}"
            batch = r.Batch(head + number, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("w", text),))
            await store.append(claim, (batch,), durable=number % 3 != 0)
            os.write(1, f"{text}\n".encode())
        await store.release(claim)
    except (OwnershipLostError, SessionBusyError) as error:
        os.write(1, f"{type(error).__name__}\n".encode())


if __name__ == "__main__":
    asyncio.run(main())
