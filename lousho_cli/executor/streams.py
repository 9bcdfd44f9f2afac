"""A run as a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from lousho_cli.domain.events import Event
from lousho_cli.domain.texts import RUN_CANCEL_REASON
from lousho_cli.errors import SDKError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.events import Listener

Result = TypeVar("Result")


class EventStream(Generic[Result]):
    """Events of one run, in order. The run begins with the first look; it can be read once.

    ``result()`` waits for the end and gives the result; without reading the events it runs all the same. Who
    leaves the events half read leaves the run going: it is saved step by step as ever, and ``result()`` still
    gives its end. ``abort()`` stops it.

    Args:
        run: begins the run, given who listens and what can abort it.
        listener: is told each event too. signal: an abort of the caller's own.
    """

    def __init__(
        self,
        run: Callable[[Listener, AbortSignal], Coroutine[Any, Any, Result]],
        listener: Listener | None = None,
        signal: AbortSignal | None = None,
    ) -> None:
        self._run, self._listener, self._signal = run, listener, signal
        self._controller = AbortController()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[Result] | None = None
        self._read = self._left = False

    def _begin(self) -> asyncio.Task[Result]:
        if self._task is None:
            signal, controller = self._signal, self._controller
            forget = signal.on_abort(lambda: controller.abort(signal.reason)) if signal is not None else lambda: None
            self._task = asyncio.ensure_future(self._run(self._put, controller.signal))
            self._task.add_done_callback(lambda _: forget())
            self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        return self._task

    def _put(self, event: Event) -> None:
        if not self._left:
            self._events.put_nowait(event)
        if self._listener is not None:
            self._listener(event)

    async def __aiter__(self) -> AsyncIterator[Event]:
        if self._read:
            raise SDKError("the events of a run can be read once", code="LOUSHO_RUN_ALREADY_ITERATED")
        self._read = True
        task = self._begin()
        try:
            while (event := await self._events.get()) is not None:
                yield event
        finally:
            self._left = True
        await task

    async def result(self) -> Result:
        """The result of the run. Raises what the run raised."""
        return await self._begin()

    async def abort(self, reason: Any = RUN_CANCEL_REASON) -> Result:
        """Aborts the run, as an ``AbortController`` does; returns its result once that is saved. One that has ended stays as it is."""
        self._controller.abort(reason)
        return await self._begin()
