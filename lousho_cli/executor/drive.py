"""The one loop: fold, decide, append, perform, and again, until the session rests.

    happened ──plan──▶ batches ──write──▶ effects ──perform──▶ happened

What is decided is decided by pure functions (``core.decide`` through ``core.advance``); what is
done is done by ``perform``. This file only carries the one to the other, in the order that keeps
the promises: nothing is performed before the batch that leads to it is written, nothing is told
before it is durable.

The barrier: the last result of a tool phase is written at once, so that ``kill -9`` keeps it, but
its sync may wait for the next thing that needs one. Asking the model is not telling anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.decide import (
    CallModel,
    CheckInput,
    ConsultTool,
    Effect,
    FinishCall,
    Live,
    Rest,
    RunCall,
    Throw,
    settled,
)
from lousho_cli.core.limits import spent, used_with_sub_agents
from lousho_cli.domain import records as r
from lousho_cli.domain.plain import plain
from lousho_cli.domain.session import Session
from lousho_cli.domain.stops import Spent
from lousho_cli.errors import HookError, OwnershipLostError, ProviderError, SDKError, StorageError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.calls import Calls
from lousho_cli.executor.consults import Consults
from lousho_cli.executor.deadlines import Alarm
from lousho_cli.executor.delegation import Delegation
from lousho_cli.executor.events import Events
from lousho_cli.executor.farewell import Farewell, why
from lousho_cli.executor.guardrails import Watch, enter, thrown
from lousho_cli.executor.hooking import hooked_pauses
from lousho_cli.executor.hooks import NO_HOOKS
from lousho_cli.executor.interrupts import unless_aborted
from lousho_cli.executor.model_calls import FlushBehind, ModelCalls
from lousho_cli.executor.pauses import Pauses
from lousho_cli.executor.perform import Fatal, Outcome
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.sub_agents import SubAgentTool
from lousho_cli.executor.sub_log import DrivenLog, SubLog


class Driver:
    """Drives one claimed session, or a sub-agent's part of it, to its rest."""

    def __init__(self, log: DrivenLog, agent: RunAgent, controller: AbortController, events: Events, pauses: Pauses) -> None:
        signal = controller.signal
        self.log, self.agent, self.signal, self.events = log, agent, signal, events
        self._clock = log.clock
        self._pauses = pauses
        self._alarm = Alarm(controller, log.clock)
        self._watch = Watch(agent.guards, log.id)
        self._models = ModelCalls(log, agent, signal, events, self._watch)
        self._flush = FlushBehind(log)
        self._delegation = Delegation(self)
        self._calls = Calls(log, agent, signal, self._delegation)
        self._consults = Consults(agent, self._calls.context_of)
        hooks = NO_HOOKS if log.calls else agent.hooks  # a sub-agent is stopped with its lead
        self._farewell = Farewell(hooks, signal, log.id, self._calls.running, agent.settings.abort_grace_ms)
        self._failure: BaseException | None = None
        self._failed_at = 0
        self._salt = log.clock.new_id()
        self._calling_model = False
        self._lead: Driver | None = None

    def within(self, log: SubLog, tool: SubAgentTool, controller: AbortController) -> Driver:
        """The driver of a sub-agent. What it pauses on is its lead's to keep."""
        ready = tool.ready
        assert isinstance(ready, RunAgent), "run_agent makes these tools"
        pauses = Pauses(ready.agent, None, native=True, session_id=None)
        child = Driver(log, ready, controller, self.events.within(tool.name), pauses)
        child._lead = self
        return child

    async def drive(self, happened: Sequence[r.Record]) -> Session:
        """Records ``happened`` and goes on until nothing can happen any more.

        Raises:
            ProviderError: the model failed for good; the input is settled as failed.
            PropagatingToolError: a tool stopped the run.
            HookError, GuardrailTrippedError, BudgetExceededError: a hook failed, or what throws stopped the run.
            OwnershipLostError, StorageError: the log could not be written; nothing ran beyond it.
        """
        self._failure = None
        self._farewell.watch()
        forget = self._models.watch()
        try:
            await self._drive(await enter(self._watch, self.log, happened, self.signal))
        finally:
            forget()
            self._alarm.cancel()
            self._flush.cancel()
            self._consults.drop()
            await self._calls.abandon()
            await self._farewell.done()
        if self._failure is not None:
            raise self._failure
        return self.log.session

    async def _drive(self, news: Sequence[r.Record]) -> None:
        log, facts = self.log, self.agent.facts
        while True:
            plan = log.plan(news, facts, self._live())
            effects = plan.effects
            first = effects[0] if effects else None  # what is no call stands alone
            if type(first) is Rest:
                await self._rest(plan.batches)
                return
            await log.write(plan.batches, durable=self._must_be_durable(plan.batches, effects))
            log.must_be_ours()
            self._alarm.set(log.deadline())
            if self.signal.aborted and not self._calls.in_flight:
                news = ()  # it fired while the batch was written: nothing new starts, and deciding sees why
            elif type(first) is CallModel:
                news = await self._call_model(first.step)
            elif type(first) is CheckInput or type(first) is Throw:
                news = await self._check_or_throw(first)
            else:
                news = await self._call_tools(effects)

    async def _rest(self, batches: Sequence[r.Batch]) -> None:
        """Writes what the session comes to rest with; if that is a pause, it is kept, and hooks are told."""
        await self._pauses.write(self.log, batches)
        if self.agent.hooks.post_tool:
            await unless_aborted(self.signal, hooked_pauses(self.agent.hooks, batches, self.log.id))

    def _live(self) -> Live:
        watch, consults, lead = self._watch, self._consults, self._lead
        live = Live(
            now=self._clock.now(),
            salt=self._salt,
            in_flight=self._calls.in_flight,
            consulting=consults.asking,
            consulted=consults.answers,
            calling_model=self._calling_model,
            over=None if lead is None else lead._over(),
            tripped=watch.tripped,
            refused=watch.refused,
            cleared=watch.cleared,
            stopping=self._failure is not None,
        )
        return live if not self.signal.aborted else _stopped(live, self.signal)

    def _over(self) -> Spent | None:
        """The limit of this agent, or of one it works for, that is reached while its sub-agents go on."""
        limits = self.agent.facts.limits
        over = spent(used_with_sub_agents(self.log.session), limits) if limits is not None else None
        return over if over is not None or self._lead is None else self._lead._over()

    def _must_be_durable(self, batches: Sequence[r.Batch], effects: Sequence[Effect]) -> bool:
        """Whether what comes next needs what stands here to survive a power cut.

        Not the model, where only results stand before it; and not the start of a call that may
        run again, when nothing else was written.
        """
        if effects and type(effects[0]) is CallModel:
            return not _only(_BEFORE_MODEL, batches)
        if batches and _only(_ONLY_STARTS, batches):
            return any(self._calls.may_not_repeat(effect) for effect in effects)
        return True

    async def _call_tools(self, effects: Sequence[Effect]) -> Sequence[r.Record]:
        calls, consults = self._calls, self._consults
        alone = len(effects) == 1 and not consults.futures
        for effect in effects:
            if type(effect) is ConsultTool:
                consults.ask(effect)
                if effect.call.id in consults.answers:
                    return self._outcomes(calls.finished())
            elif (type(effect) is RunCall or type(effect) is FinishCall) and not self.signal.aborted:
                await calls.start(effect, alone=alone)
        if alone and not calls.in_flight and not consults.futures:
            return self._outcomes(calls.finished())
        outcomes = (*await calls.some(consults.futures), *consults.collect())
        if self.signal.aborted:
            consults.drop()
        return self._outcomes(outcomes)

    async def _check_or_throw(self, effect: CheckInput | Throw) -> Sequence[r.Record]:
        try:
            if isinstance(effect, Throw):
                raise thrown(effect.stop)
            messages = self.log.session.inputs[effect.input_id].messages
            await unless_aborted(self.signal, self._watch.lets_in(effect.input_id, messages))
        except SDKError as error:
            self._failure = error
            return self._failed(error)
        return ()

    def _outcomes(self, outcomes: Sequence[Outcome | r.Record]) -> Sequence[r.Record]:
        records: list[r.Record] = []
        for outcome in outcomes:
            if isinstance(outcome, Fatal):
                self._fatal(outcome)
            else:
                records.append(outcome)
        if self._failure is not None and not self._calls.in_flight:
            records += self._failed(self._failure)
        return records

    def _fatal(self, outcome: Fatal) -> None:
        """Keeps the error of the first call in call order; the others were awaited and are recorded or lost with it."""
        turn = self.log.session.turn
        place = turn.calls.index(outcome.call) if turn else 0
        if self._failure is None or place < self._failed_at:
            self._failure, self._failed_at = outcome.error, place
        self._delegation.stop()

    def _failed(self, error: BaseException) -> tuple[r.Record, ...]:
        detail = error.detail if isinstance(error, SDKError) else str(error)
        code = error.code if isinstance(error, SDKError) else None
        return settled(self.log.session, "failed", plain(detail)[0] or type(error).__name__, code)

    async def _call_model(self, step: int) -> Sequence[r.Record]:
        try:
            repairs = self._models.mended()
            if repairs:
                return repairs
            self._calling_model = True
            if self.log.unsynced:
                self._flush.begin()
            turn = await self._models.ask(step)
        except ProviderError as error:
            return self._retry_or_fail(error)
        except (StorageError, OwnershipLostError):
            raise
        except SDKError as error:
            self._calling_model, self._failure = False, error
            return self._failed(error)
        finally:
            self._flush.end()
        if turn is None:
            self._calling_model = self._models.asking
            return ()  # it was cut short by the signal; deciding sees that
        self._calling_model = False
        self._consults.forget()
        if self.log.snapshot_due():
            await self.log.snapshot()
        return (turn,)

    def _retry_or_fail(self, error: ProviderError) -> Sequence[r.Record]:
        self._calling_model = False
        failure: SDKError = error
        try:
            retry = self._models.after_failure(error)
        except HookError as raised:
            retry, failure = (), raised
        if retry:
            return retry
        self._failure = failure
        return self._failed(failure)


def _only(kinds: frozenset[type], batches: Sequence[r.Batch]) -> bool:
    """Whether batches hold no record of another kind."""
    for batch in batches:  # noqa: SIM110 - it is one; a generator would cost more than the look
        if not kinds.issuperset(map(type, batch.records)):
            return False
    return True


def _stopped(live: Live, signal: AbortSignal) -> Live:
    """What deciding is told of an abort, a stop, or a time that is up."""
    recoverable, late = signal.recoverable, signal.late
    aborted, stopping = not recoverable and not late, recoverable or live.stopping
    return msgspec.structs.replace(live, aborted=aborted, why=why(signal), late=late, stopping=stopping)


_BEFORE_MODEL: frozenset[type] = frozenset((r.ToolFinished, r.Mark))
"""Records whose sync may wait behind a model call."""

_ONLY_STARTS: frozenset[type] = frozenset((r.ToolStarted,))
