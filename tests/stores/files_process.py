"""Another process on the same files: saves a checkpoint, or takes an approval as soon as it is told to."""

from __future__ import annotations

import asyncio
import sys

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import user
from lousho_cli.stores.checkpoint_files import FileApprovalStore, FileCheckpointStore


async def take(place: str) -> None:
    store = FileApprovalStore(place)
    print("ready", flush=True)
    for approval_id in map(str.strip, sys.stdin):
        print("took" if await store.resolve(approval_id) is not None else "none", flush=True)


async def save(place: str, step: int, limit: int) -> None:
    await FileCheckpointStore(place, limit).save("s", Checkpoint("s", (user("x" * 100_000),), step_index=step))


if sys.argv[1] == "take":
    asyncio.run(take(sys.argv[2]))
else:
    asyncio.run(save(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
