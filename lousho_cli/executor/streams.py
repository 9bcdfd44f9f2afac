"""A run as a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from lousho_cli.errors import SDKError
from lousho_cli.executor.events import Event, Listener
from lousho_cli.executor.results import RunResult


class EventStream:
    """Events of one run, in order. The run begins with the first look; it can be read once.

    ``result()`` waits for the end and gives the result; without reading the events it runs all the same.
    """

    def __init__(self, run: Callable[[Listener], Coroutine[Any, Any, RunResult]], listener: Listener | None = None) -> None:
        self._run, self._listener = run, listener
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[RunResult] | None = None
        self._read = False

    def _begin(self) -> asyncio.Task[RunResult]:
        if self._task is None:
            self._task = asyncio.ensure_future(self._run(self._put))
            self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        return self._task

    def _put(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)
        self._events.put_nowait(event)

    async def __aiter__(self) -> AsyncIterator[Event]:
        if self._read:
            raise SDKError("the events of a run can be read once", code="LOUSHO_RUN_ALREADY_ITERATED")
        self._read = True
        task = self._begin()
        while (event := await self._events.get()) is not None:
            yield event
        await task

    async def result(self) -> RunResult:
        """The result of the run. Raises what the run raised."""
        return await self._begin()
