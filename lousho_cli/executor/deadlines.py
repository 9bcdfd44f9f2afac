"""The alarm that stops what runs when the time of a run is up. Whether it is up is decided in the core."""

from __future__ import annotations

import asyncio
from datetime import datetime

from lousho_cli.domain.texts import TIMEOUT_REASON
from lousho_cli.executor.abort import AbortController
from lousho_cli.ports.clock import Clock


class Alarm:
    """Fires the controller of a run at its deadline."""

    def __init__(self, controller: AbortController, clock: Clock) -> None:
        self._controller, self._clock = controller, clock
        self._deadline: str | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, deadline: str | None) -> None:
        """Goes off at ``deadline``, or never for None. Setting the same again does nothing."""
        if deadline == self._deadline:
            return
        self.cancel()
        self._deadline = deadline
        if deadline is not None:
            ms = datetime.fromisoformat(deadline).timestamp() * 1000 - self._clock.now_ms()
            self._timer = asyncio.get_running_loop().call_later(max(ms, 0) / 1000, self._controller.abort, TIMEOUT_REASON)

    def cancel(self) -> None:
        """Does not go off any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._deadline = self._timer = None
