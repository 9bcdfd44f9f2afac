"""Telling hooks that a run is aborted or stopped, at once and beside the tools that are still running; and that it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.stops import Aborted
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.hooks import HookAbort, HookEnd, Hooks, tell
from lousho_cli.executor.results import RunResult

GRACE_MS = 5_000
"""How long the end of a run waits for these hooks where it waits for its tools for ever."""


class Farewell:
    """The ``on_abort`` hooks of one run; asked once, however often it goes on.

    Args:
        running: gives the calls that are running.
        grace_ms: how long the end of the run waits for the hooks; None for ``GRACE_MS``.
    """

    def __init__(
        self, hooks: Hooks, signal: AbortSignal, session_id: str, running: Callable[[], tuple[ToolCall, ...]], grace_ms: int | None
    ) -> None:
        self._hooks, self._signal, self._session_id, self._running = hooks.on_abort, signal, session_id, running
        self._grace_ms = GRACE_MS if grace_ms is None else min(grace_ms, GRACE_MS)
        self._telling: asyncio.Task[None] | None = None
        self._forget: Callable[[], None] = lambda: None

    def watch(self) -> None:
        """Tells the hooks when the signal fires, at once where it has."""
        if self._hooks and self._telling is None:
            self._forget = self._signal.on_abort(self._begin)

    def _begin(self) -> None:
        signal = self._signal
        told = HookAbort(text_of(signal.reason), signal.recoverable, self._session_id, self._running())
        self._telling = asyncio.get_running_loop().create_task(self._tell(told))

    async def _tell(self, told: HookAbort) -> None:
        for name, hook in self._hooks:
            await tell(hook, name, told)

    async def done(self) -> None:
        """Waits for the hooks, no longer than they may take; what they do then is cancelled."""
        self._forget()
        if self._telling is not None and not self._telling.done():
            await asyncio.wait({self._telling}, timeout=self._grace_ms / 1000)
            self._telling.cancel()


async def telling_the_end(hooks: Hooks, session_id: str | None, running: Awaitable[RunResult]) -> RunResult:
    """What ``running`` gives or raises, once the ``on_run_end`` hooks were told."""
    try:
        result = await running
    except BaseException as error:
        await _told(hooks, HookEnd(session_id, error=error))
        raise
    await _told(hooks, HookEnd(session_id, result))
    return result


async def _told(hooks: Hooks, end: HookEnd) -> None:
    for name, hook in hooks.on_run_end:
        await tell(hook, name, end)


def why(signal: AbortSignal) -> Aborted:
    """What is known of an abort."""
    reason = signal.reason
    name = "TimeoutError" if isinstance(reason, TimeoutError) else "AbortError"
    return Aborted(name, text_of(reason))
