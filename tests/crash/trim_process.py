"""Trims a session and says so; a tracer kills it or stops it somewhere in between. ``take MS`` only claims for so long, then trims."""

from __future__ import annotations

import asyncio
import os
import sys

from lousho_cli.core.trimming import base_batch, trimmed_state
from lousho_cli.errors import OwnershipLostError
from lousho_cli.executor.trimming import trim_session
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore


async def main(folder: str, ttl_ms: int) -> None:
    store = FileStore(folder)
    if not ttl_ms:
        await trim_session("trip", store)
        os.write(1, b"trimmed\n")
        return
    claim = await store.claim("trip", "stopped", ttl_ms)
    state = trimmed_state(await read_session(store, "trip"))
    try:
        await store.trim(claim, base_batch(state, claim.epoch, "stopped"))
        os.write(1, b"trimmed\n")
        await store.release(claim)
    except OwnershipLostError:
        os.write(1, b"lost\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0))
