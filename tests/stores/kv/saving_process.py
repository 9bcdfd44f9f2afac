"""Saves one checkpoint over the real KV and kills itself before its n-th write."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import user
from lousho_cli.stores.kv.checkpoints import KVCheckpointStore
from lousho_cli.stores.kv.rest import CloudflareKV


class Deadly(CloudflareKV):
    writes_left = 0

    async def put(self, *args: Any, **options: Any) -> None:
        self._one_more()
        await super().put(*args, **options)

    async def delete(self, key: str) -> None:
        self._one_more()
        await super().delete(key)

    def _one_more(self) -> None:
        self.writes_left -= 1
        if self.writes_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


base_url, prefix, step, before, limit = sys.argv[1:]
namespace = Deadly("acct", "ns1", base_url=base_url)
namespace.writes_left = int(before)
store = KVCheckpointStore(namespace, prefix, history_limit=int(limit))
asyncio.run(store.save("s", Checkpoint("s", (user(f"step {step}"),), step_index=int(step))))
