"""Asking the model: the transcript checked before, and mended; retries waited for; an abort that does not wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import ClassVar

from lousho_cli.core.retry import RetryDecision, RetryPolicy, wait_before
from lousho_cli.core.transcript import check, mend
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import continuation
from lousho_cli.domain.events import StepStart
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.resets import seen
from lousho_cli.errors import ProviderError, SDKError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.events import Events
from lousho_cli.executor.guardrails import Watch
from lousho_cli.executor.interrupts import Interruptible
from lousho_cli.executor.knowing import Known
from lousho_cli.executor.partials import Partials
from lousho_cli.executor.perform import ask_model
from lousho_cli.executor.retrying import decided
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.provider import ModelRequest

FLUSH_AFTER_S = 0.005
"""How long a model call may run before the results in front of it are made durable behind it."""

log_to = logging.getLogger("lousho")


class LongCalls:
    """The model calls of one event loop behind which something is to be made durable if they take long. One timer serves them all."""

    _newest: ClassVar[LongCalls | None] = None

    @classmethod
    def here(cls) -> LongCalls:
        """Those of the loop that runs; two loops that take turns have several, which does no harm."""
        loop, found = asyncio.get_running_loop(), cls._newest
        if found is None or found._loop is not loop:
            cls._newest = found = cls(loop)
        return found

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: dict[FlushBehind, float] = {}  # each as much later than it was put here: the first is always due first
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: FlushBehind) -> None:
        self._due[call] = due = self._loop.time() + FLUSH_AFTER_S
        if self._timer is None:
            self._timer = self._loop.call_at(due, self._look)

    def remove(self, call: FlushBehind) -> None:
        self._due.pop(call, None)

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        for call, due in list(self._due.items()):
            if due > now:
                self._timer = self._loop.call_at(due, self._look)
                return
            del self._due[call]
            call.flush()


class FlushBehind:
    """Makes a log durable behind a model call that runs long enough."""

    def __init__(self, log: DrivenLog) -> None:
        self.flush = log.flush_soon
        self._calls = LongCalls.here()

    def begin(self) -> None:
        """A model call begins, in front of which something is not durable yet."""
        self._calls.add(self)

    def end(self) -> None:
        """The call is over."""
        self._calls.remove(self)


class ModelCalls:
    """The model calls of one driver. ``asking``: a request was sent; False while a retry is waited for."""

    def __init__(self, log: DrivenLog, agent: RunAgent, signal: AbortSignal, events: Events, watch: Watch) -> None:
        self._log, self._agent, self._signal, self._events = log, agent, signal, events
        self._watch = watch
        self._checked = 0
        self._known = Known()
        self._wait_ms = 0
        self._partials = Partials(log, kept=agent.settings.continue_cut_off is not False)
        self.asking = False
        self._await: Interruptible[r.Turn] = Interruptible()

    def watch(self) -> Callable[[], None]:
        """From here on the signal gives up the call that runs. Returns what takes that back."""
        return self._signal.on_abort(self._await.interrupt)

    async def ask(self, step: int) -> r.Turn | None:
        """One answer, or None when the signal came first.

        Raises:
            ProviderError: the call failed.
            SDKError: a hook or a guardrail stopped the run.
        """
        self.asking = False
        if self._events.wanted:
            self._events.emit(StepStart(step=step))
        if self._signal.aborted:
            return None
        partials, turn = self._partials, None
        partials.begin()
        self._await.begin()
        try:
            if self._wait_ms:
                await self._wait()
            self.asking = True
            turn = await ask_model(self._agent, self._request(), step, self._events, partials, self._known, self._watch)
            if turn.message.metadata is None:  # which anybody may still hold and change
                self._log.vouch(turn)
        except asyncio.CancelledError:
            if not self._await.interrupted:
                raise
        finally:
            if self._await.end():
                await self._await.forget()
            if partials.busy:
                await partials.end()
        if turn is None and self._signal.recoverable:
            await partials.stopped()
        return turn

    def _request(self) -> ModelRequest:
        """What the model is asked now."""
        log, agent, known = self._log, self._agent, self._known
        messages = log.messages
        known.catch_up(messages)
        shown = seen(messages, known.seen_from)
        if agent.ephemeral:
            start = log.run.start - (len(messages) - len(shown))
            at = max(start, len(shown) and shown[0].role == "system")
            shown = [*shown[:at], *agent.ephemeral, *shown[at:]]
        return ModelRequest(shown, agent.specs, agent.model, log.turns, **agent.asks)

    async def _wait(self) -> None:
        """The wait before a retry."""
        wait_ms, self._wait_ms = self._wait_ms, 0
        await self._log.clock.sleep(wait_ms / 1000)

    def after_failure(self, error: ProviderError) -> tuple[r.Record, ...]:
        """What a failed call leads to, as the caller's policy says: the records of a retry, with the text that is kept; none for giving up.

        The wait begins with the next call of ``ask``, once they are written.

        Raises:
            HookError: the policy raised, or said nothing that can be used.
        """
        policy = self._agent.settings.on_model_error
        if policy is None:
            return ()
        text = self._partials.text
        error.partial = error.partial or bool(text)
        retries, chance = self._log.session.retries, self._log.clock.chance()
        decision = decided(policy, error, retries, chance)
        if decision is None:
            return ()
        wait = decision.wait_ms if decision.wait_ms is not None else wait_before(error, retries, chance)
        if wait is None:
            return ()  # the server asks for a longer wait than anybody means to make
        self._wait_ms = wait = 0 if error.replayed else wait
        kept = self._kept(text, decision)
        limit = policy.max_retries if isinstance(policy, RetryPolicy) else None
        told = plain(error.detail)[0]
        return (*kept, r.ModelRetry(retries + 1, told, wait, error.category, limit, continued=bool(kept)))

    def _kept(self, text: str, decision: RetryDecision) -> tuple[r.Splice, ...]:
        """The text of the failed answer as the transcript keeps it. Behind an answer that only paused there is no place for it."""
        messages = self._log.messages
        if decision.action != "continue" or not messages or messages[-1].role == "assistant":
            return ()
        added = continuation(text, decision.notes)
        return (r.Splice(len(messages), added, "continue"),) if added else ()

    def mended(self) -> tuple[r.Record, ...]:
        """The records that make the transcript one a provider accepts; none where it is, as always but with old or foreign logs.

        Checks what came since the last call; everything before was checked then.

        Raises:
            SDKError: it could not be mended, a fault of ours.
        """
        messages = self._log.messages
        problem = check(messages.behind(self._checked))
        if problem is None:
            self._checked = len(messages)
            return ()
        keep, add, words = mend(messages)
        if not words:
            raise SDKError(
                f"the transcript is not valid at message {self._checked + problem.index}: {problem.detail}",
                code="LOUSHO_TRANSCRIPT_INVALID",
                hint="Fork from an earlier step, or report this with: lousho export",
            )
        log_to.warning("%s: %s", self._log.id, words)
        return (r.Splice(keep, add, "repair"), r.Note("repair", text_of(words)))
