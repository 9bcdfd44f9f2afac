"""Looks after a log while this host owns it: stops the turn once the log is lost, and has the fold cached when that is due."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from lousho_cli.errors import OwnershipLostError, SDKError
from lousho_cli.executor.interrupts import INTERRUPTED, Interruptible
from lousho_cli.executor.session_log import SessionLog

LOOK_EVERY_S = 0.1

T = TypeVar("T")


class Guard:
    """That of one claim. Nothing new starts once a claim is overdue; this is for what runs already."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._turn: Interruptible[Any] = Interruptible()
        self._looking: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Looks after the log until ``stop``."""
        self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        overdue = 0
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            # Twice: a process that stood still renews, where nobody took the log meanwhile, before it is looked at again.
            overdue = overdue + 1 if self._log.claim.overdue else 0
            if overdue > 1:
                self._turn.interrupt()
            with suppress(SDKError):  # whoever writes next meets it
                if self._log.snapshot_due():
                    await self._log.snapshot()

    async def run(self, turn: Coroutine[Any, Any, T]) -> T:
        """Runs a turn to its end.

        Raises:
            OwnershipLostError: the log was lost; the turn was broken off, and wrote nothing more.
        """
        ended = await self._turn.run(turn)
        if ended == INTERRUPTED:
            raise OwnershipLostError(self._log.id, "another owner, or nobody: the lease could not be renewed in time")
        return ended  # type: ignore[no-any-return]

    async def stop(self) -> None:
        """Looks no more."""
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            await asyncio.wait({looking})
