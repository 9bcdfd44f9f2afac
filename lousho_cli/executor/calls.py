"""The tool calls this process is running: started in order, collected as they end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from functools import partial
from typing import Any, Literal

from lousho_cli.core.decide import Effect, FinishCall, RunCall, cancel
from lousho_cli.core.gate import effective_replay
from lousho_cli.core.sub_agents import facts_of, in_background
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.session import Run
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.delegation import Delegation
from lousho_cli.executor.interrupts import INTERRUPTED, Interruptible
from lousho_cli.executor.perform import Outcome, finish_call, reported, run_call
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.secret_answers import credentials_of
from lousho_cli.executor.steps import CallSteps
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.steps import Steps
from lousho_cli.ports.tool import RunContext, RunInfo, ToolContext

_NO_STEPS = Steps()


class Calls:
    """Runs calls; a single one in the driver's own task, several in tasks of theirs.

    On an abort or a stop the calls that run are awaited, for ``abort_grace_ms`` where that is set.
    What has not ended then is given up: aborted, it gets a cancelled result; stopped, it gets none
    and counts as cut. A sub-agent is never given up: it hears of the same signal, keeps to the same
    time, and writes to the log, which may not be broken off.
    """

    def __init__(self, log: DrivenLog, agent: RunAgent, signal: AbortSignal, delegation: Delegation) -> None:
        self._log, self._agent, self._signal = log, agent, signal
        self._delegation = delegation
        self._tasks: dict[asyncio.Task[Outcome | None], ToolCall] = {}
        self._finished: list[Outcome | r.Record] = []
        self._steps: dict[str, CallSteps] = {}
        self._inline: Interruptible[Outcome | None] = Interruptible()
        self._alone: ToolCall | None = None
        self._notes: set[asyncio.Task[None]] = set()
        self._told_abort = False
        self._deadline: float | None = None
        self._told: tuple[Run, RunContext] | None = None

    @property
    def in_flight(self) -> frozenset[str]:
        return frozenset(call.id for call in self._tasks.values()) if self._tasks else _NONE

    def running(self) -> tuple[ToolCall, ...]:
        """The calls that run now."""
        inline = (self._alone,) if self._alone is not None else ()
        return (*inline, *self._tasks.values())

    def may_not_repeat(self, effect: Effect) -> bool:
        """Whether a call is one of those that must not run again once it may have been started."""
        if not isinstance(effect, RunCall):
            return False
        tool = self._agent.tools[effect.call.name]
        return effective_replay(tool, self._agent.facts.policy, self._log.run.replay) == "never"

    async def start(self, effect: RunCall | FinishCall, *, alone: bool) -> None:
        """Starts a call; when it is alone, also runs it to its end."""
        outcome_of = self._begin(effect)
        if not alone or self._tasks:
            task = asyncio.create_task(outcome_of)
            self._tasks[task] = effect.call
            return
        self._alone = effect.call
        try:
            outcome = await (outcome_of if self._agent.settings.abort_grace_ms is None else self._within_grace(outcome_of))
        finally:
            self._alone = None
        if outcome == INTERRUPTED:
            self._give_up(effect.call)
        else:
            self._ended(effect.call, outcome)
        if self._notes:
            await self._noted()

    def _begin(self, effect: RunCall | FinishCall) -> Coroutine[Any, Any, Outcome | None]:
        if not isinstance(effect, RunCall):
            return finish_call(self._agent, effect, self._log.id)
        if facts_of(self._agent.tools[effect.call.name]) is not None and not in_background(effect.args):
            return self._delegated(effect) if self._agent.hooks.post_tool else self._delegation.run(effect)
        call, decision = effect.call, effect.decision
        steps = CallSteps(self._log, call, effect.args, self._signal, self._keep, self._agent.facts.policy.mode == "dont-ask")
        self._steps[call.id] = steps
        answers = () if decision is None else decision.answers
        return run_call(self._agent, effect, self.context_of(call, effect.rerun, answers, steps))

    def _drives(self, call: ToolCall) -> bool:
        """Whether a call is a sub-agent's run."""
        return facts_of(self._agent.tools.get(call.name)) is not None

    async def _delegated(self, effect: RunCall) -> Outcome | None:
        ended = await self._delegation.run(effect)
        return None if ended is None else await reported(self._agent.hooks, effect.call, effect.args, self._log.id, ended)

    async def _within_grace(self, outcome_of: Coroutine[Any, Any, Outcome | None]) -> Outcome | Literal["interrupted"] | None:
        """Runs the call in this task, and gives it up where it does not end in time behind an abort."""
        forget = self._signal.on_abort(self._give_up_inline_after_grace)
        try:
            return await self._inline.run(outcome_of)
        finally:
            forget()

    def _give_up_inline_after_grace(self) -> None:
        grace = self._agent.settings.abort_grace_ms
        if grace is not None and self._alone is not None and not self._drives(self._alone):
            asyncio.get_running_loop().call_later(grace / 1000, self._inline.interrupt)

    def finished(self) -> Sequence[Outcome | r.Record]:
        """What ended since last asked, without waiting; in front of a result the records that its call staged."""
        if self._tasks:
            for task in [task for task in self._tasks if task.done()]:
                self._collect(task)
        outcomes, self._finished = self._finished, []
        return outcomes

    async def some(self, others: Collection[asyncio.Future[Any]] = ()) -> Sequence[Outcome | r.Record]:
        """Waits until at least one call, or one of ``others``, ended, or the signal fired; gives the calls that ended."""
        while not (outcomes := self.finished()) and (self._tasks or others) and not any(other.done() for other in others):
            if self._signal.aborted and self._told_abort:
                if not self._tasks:
                    break
                await self._rest_within_grace()
            elif not await self._wait_for_one(others):
                return ()
        if self._notes:
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
            late = {task for task in late if not self._drives(self._tasks[task])}
            if not late:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                return
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
        for steps in self._steps.values():
            steps.end()
        self._steps = {}
        if self._notes:
            await asyncio.wait(self._notes)
            self._notes = {note for note in self._notes if note.cancelled() or note.exception() is None}
            self._notes.clear()
        self._finished = []

    def _collect(self, task: asyncio.Task[Outcome | None]) -> None:
        call = self._tasks.pop(task)
        if task.cancelled():
            self._give_up(call)
            return
        self._ended(call, task.result())

    def _ended(self, call: ToolCall, outcome: Outcome | None) -> None:
        steps = self._steps.pop(call.id, None)
        staged = steps.end() if steps is not None else ()
        if staged and isinstance(outcome, r.ToolFinished):
            self._finished += staged
        if outcome is not None:
            self._finished.append(outcome)

    def _give_up(self, call: ToolCall) -> None:
        """A call that did not end in time: cancelled on an abort, left as it is on a stop."""
        steps = self._steps.pop(call.id, None)
        if steps is not None:
            steps.end()
        if not self._signal.recoverable:
            self._finished.append(cancel(call))

    def context_of(self, call: ToolCall, rerun: bool = False, answers: tuple[str, ...] = (), steps: Steps = _NO_STEPS) -> ToolContext:
        """What a tool is told about its call."""
        context = self._run_context()
        # Two sub-agents may call their calls alike; with the calls that lead to them they are told apart.
        call_id = "/".join((*self._log.calls, call.id)) if self._log.calls else call.id
        return ToolContext(
            call_id,
            call.name,
            context.run.log_id,
            context.run.idempotency_key(call.name, call_id),
            self._signal,
            rerun,
            partial(self._spawned, call.id),
            context,
            answers,
            steps,
            None if self._agent.in_background is None else partial(self._agent.in_background, call.id),
        )

    def _run_context(self) -> RunContext:
        """The run as its tools are told of it: the same for all of its calls."""
        log = self._log
        if self._told is None or self._told[0] is not log.run:
            self._told = log.run, RunContext(RunInfo(log.id, log.run.input_id, log.claim.epoch, credentials_of(log)))
        return self._told[1]

    def _spawned(self, call_id: str, pid: int, started: str) -> None:
        """Records a process a tool just started, without a sync: it only matters if we are killed."""
        self._keep(self._log.record(r.ToolSpawned(call_id, pid, started), durable=False))

    def _keep(self, writing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A write of a call's own, which is waited for whatever becomes of the call: the log may not be broken off."""
        note = asyncio.ensure_future(writing)
        self._notes.add(note)
        return note

    async def _noted(self) -> None:
        while self._notes:
            await self._notes.pop()


_NONE: frozenset[str] = frozenset()
