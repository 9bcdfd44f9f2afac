"""How a caller stops a run: for good (the user's abort) or for now (a recoverable stop)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lousho_cli.domain.texts import RUN_CANCEL_REASON, SHUTDOWN_REASON, TIMEOUT_REASON


class AbortSignal:
    """What a run and its tools look at. Fires once: then it is ``aborted``, and ``reason`` says why."""

    def __init__(self) -> None:
        self.aborted = False
        self.reason: Any = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def recoverable(self) -> bool:
        """Whether this is a stop that somebody goes on from: nothing is cancelled or settled."""
        return self.aborted and self.reason == SHUTDOWN_REASON

    @property
    def late(self) -> bool:
        """Whether the time of the run is up."""
        return self.aborted and self.reason == TIMEOUT_REASON

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls ``callback`` once when it fires, at once if it has. Returns what takes it back."""
        if self.aborted:
            callback()
            return lambda: None
        self._callbacks.append(callback)

        def forget() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return forget

    async def wait(self) -> None:
        """Returns once it has fired."""
        fired = asyncio.get_running_loop().create_future()
        forget = self.on_abort(lambda: None if fired.done() else fired.set_result(None))
        try:
            await fired
        finally:
            forget()

    def _fire(self, reason: Any) -> None:
        if self.aborted:
            return
        self.aborted, self.reason = True, reason
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class AbortController:
    """Holds a signal and fires it. Call it on the event loop's thread."""

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: Any = RUN_CANCEL_REASON) -> None:
        """The user's abort: open calls get cancelled results and the run is settled as aborted."""
        self.signal._fire(reason)

    def stop(self) -> None:
        """A recoverable stop: what runs may end, nothing new starts, nothing is cancelled or settled."""
        self.signal._fire(SHUTDOWN_REASON)
