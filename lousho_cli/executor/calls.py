"""The tool calls this process is running: started in order, collected as they end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from lousho_cli.core.decide import Effect, RunCall, cancel
from lousho_cli.core.gate import effective_replay
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ToolCall
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.interrupts import INTERRUPTED, Interruptible
from lousho_cli.executor.perform import Fatal, run_call
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.tool import ToolContext

Outcome = r.ToolFinished | Fatal


class Calls:
    """Runs calls; a single one in the driver's own task, several in tasks of theirs.

    On an abort or a stop the calls that run are awaited, for ``abort_grace_ms`` where that is set.
    What has not ended then is given up: aborted, it gets a cancelled result; stopped, it gets none
    and counts as cut.
    """

    def __init__(self, log: SessionLog, agent: RunAgent, signal: AbortSignal) -> None:
        self._log, self._agent, self._signal = log, agent, signal
        self._tasks: dict[asyncio.Task[Outcome | None], ToolCall] = {}
        self._finished: list[Outcome] = []
        self._inline: Interruptible[Outcome | None] = Interruptible()
        self._notes: set[asyncio.Task[None]] = set()
        self._told_abort = False
        self._deadline: float | None = None

    @property
    def in_flight(self) -> frozenset[str]:
        return frozenset(call.id for call in self._tasks.values()) if self._tasks else _NONE

    def may_not_repeat(self, effect: Effect) -> bool:
        """Whether a call is one of those that must not run again once it may have been started."""
        if not isinstance(effect, RunCall):
            return False
        tool = self._agent.tools.get(effect.call.name)
        return effective_replay(tool, self._agent.facts.policy, self._log.session.run.replay) == "never"

    async def start(self, effect: RunCall, *, alone: bool) -> None:
        """Starts a call; when it is alone, also runs it to its end."""
        context = self._context(effect)
        if not alone or self._tasks:
            task = asyncio.create_task(run_call(self._agent, effect, context))
            self._tasks[task] = effect.call
            return
        forget = self._signal.on_abort(self._give_up_inline_after_grace)
        try:
            outcome = await self._inline.run(run_call(self._agent, effect, context))
        finally:
            forget()
        if outcome == INTERRUPTED:
            self._give_up(effect.call)
        elif outcome is not None:
            self._finished.append(outcome)
        await self._noted()

    def _give_up_inline_after_grace(self) -> None:
        grace = self._agent.settings.abort_grace_ms
        if grace is not None:
            asyncio.get_running_loop().call_later(grace / 1000, self._inline.interrupt)

    def finished(self) -> Sequence[Outcome]:
        """What ended since last asked, without waiting."""
        for task in [task for task in self._tasks if task.done()]:
            self._collect(task)
        outcomes, self._finished = self._finished, []
        return outcomes

    async def some(self, others: Collection[asyncio.Future[Any]] = ()) -> Sequence[Outcome]:
        """Waits until at least one call, or one of ``others``, ended, or the signal fired; gives the calls that ended."""
        while not (outcomes := self.finished()) and (self._tasks or others) and not any(other.done() for other in others):
            if self._signal.aborted and self._told_abort:
                if not self._tasks:
                    break
                await self._rest_within_grace()
            elif not await self._wait_for_one(others):
                return ()
        await self._noted()
        return outcomes

    async def _wait_for_one(self, others: Collection[asyncio.Future[Any]]) -> bool:
        """Waits for one call or the signal; False when it was the signal, told once."""
        fired = asyncio.get_running_loop().create_future()
        forget = self._signal.on_abort(lambda: None if fired.done() else fired.set_result(None))
        try:
            await asyncio.wait([*self._tasks, *others, fired], return_when=asyncio.FIRST_COMPLETED)
        finally:
            forget()
            fired.cancel()
        if self._signal.aborted and not any(task.done() for task in self._tasks):
            self._told_abort = True
            return False
        return True

    async def _rest_within_grace(self) -> None:
        grace = self._agent.settings.abort_grace_ms
        now = asyncio.get_running_loop().time()
        if grace is not None and self._deadline is None:
            self._deadline = now + grace / 1000  # for all of them together
        timeout = None if self._deadline is None else max(self._deadline - now, 0)
        _, late = await asyncio.wait(self._tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if late == set(self._tasks):
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=1)
            for task in late:
                if task.done():
                    self._collect(task)
                else:
                    self._give_up(self._tasks.pop(task))

    async def abandon(self) -> None:
        """Stops what still runs when the driver ends without it: nothing may run on behind a log that was given up."""
        tasks, self._tasks = list(self._tasks), {}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1)
        self._finished = []

    def _collect(self, task: asyncio.Task[Outcome | None]) -> None:
        call = self._tasks.pop(task)
        if task.cancelled():
            self._give_up(call)
            return
        outcome = task.result()
        if outcome is not None:
            self._finished.append(outcome)

    def _give_up(self, call: ToolCall) -> None:
        """A call that did not end in time: cancelled on an abort, left as it is on a stop."""
        if not self._signal.recoverable:
            self._finished.append(cancel(call))

    def _context(self, effect: RunCall) -> ToolContext:
        call = effect.call
        return ToolContext(
            tool_call_id=call.id,
            tool_name=call.name,
            session_id=self._log.id,
            idempotency_key=f"{self._log.id}:{call.id}:{call.name}",
            signal=self._signal,
            rerun=effect.rerun,
            spawned=lambda pid, started: self._note(r.ToolSpawned(call.id, pid, started)),
        )

    def _note(self, record: r.ToolSpawned) -> None:
        """Records a process a tool just started, without a sync: it only matters if we are killed."""
        note = asyncio.ensure_future(self._log.record(record, durable=False))
        self._notes.add(note)

    async def _noted(self) -> None:
        while self._notes:
            await self._notes.pop()


_NONE: frozenset[str] = frozenset()
