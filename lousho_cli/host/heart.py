"""A host with a stable id says again and again that it lives, so that the threads that use its folder stay its own."""

from __future__ import annotations

import asyncio
import logging

from lousho_cli.errors import SDKError
from lousho_cli.executor.keeping import Keeping
from lousho_cli.ports.log_store import LogStore

log_to = logging.getLogger("lousho")


class Heart:
    """That of one host; it beats from ``begin`` until ``stop``."""

    def __init__(self, store: LogStore, host_id: str, keeping: Keeping) -> None:
        self._store, self._id, self._keeping = store, host_id, keeping
        self._beating: asyncio.Task[None] | None = None
        self._stopped = False

    async def begin(self) -> None:
        """Says for the first time that the host lives; nothing where it beats already.

        Raises:
            StorageError: it can not be said.
        """
        if self._beating is None:
            await self._store.heartbeat(self._id, self._keeping.ttl_ms)
            if not self._stopped:  # else it was while this was said
                self._beating = self._beating or asyncio.ensure_future(self._beat())

    async def _beat(self) -> None:
        every_ms = self._keeping.renew_ms or self._keeping.ttl_ms // 3
        while True:
            await asyncio.sleep(every_ms / 1000)
            try:
                await self._store.heartbeat(self._id, self._keeping.ttl_ms)
            except SDKError as error:
                log_to.warning("host %s could not say that it lives: %s", self._id, error)

    async def stop(self) -> None:
        """Says no more; others wait until the time of the last word is over."""
        self._stopped = True
        beating, self._beating = self._beating, None
        if beating is not None:
            beating.cancel()
            await asyncio.wait({beating})
