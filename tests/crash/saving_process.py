"""Appends large batches and replaces a large snapshot until it is killed; says what was acknowledged."""

from __future__ import annotations

import asyncio
import os
import sys

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Head
from lousho_cli.domain.state import State
from lousho_cli.stores.file.store import FileStore


async def main() -> None:
    store = FileStore(sys.argv[1])
    claim = await store.claim("trip", "here")
    head = (await store.read("trip")).head
    for seq in range(head + 1, head + 1000):
        await store.append(claim, (r.Batch(seq, claim.epoch, "2026-01-01T00:00:00.000Z", (r.BusinessState("x" * 300_000),)),))
        os.write(1, f"{seq}\n".encode())
        await store.save_snapshot(claim, State(seq=seq, epoch=claim.epoch, business_state="y" * 5_000_000))
        await store.save_head(claim, Head(seq=seq))


if __name__ == "__main__":
    asyncio.run(main())
