"""Asking the model: the transcript checked before, retries waited for, an abort that does not wait."""

from __future__ import annotations

import asyncio
import inspect

from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.events import StepStart
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import HookError, ProviderError, SDKError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.events import Events
from lousho_cli.executor.guardrails import Watch
from lousho_cli.executor.interrupts import ESCAPES, INTERRUPTED, Interruptible
from lousho_cli.executor.knowing import Known
from lousho_cli.executor.partials import Partials
from lousho_cli.executor.perform import ask_model
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.sub_log import DrivenLog

FLUSH_AFTER_S = 0.005
"""How long a model call may run before the results in front of it are made durable behind it."""


class FlushBehind:
    """Makes a log durable behind a model call that runs long enough. One timer serves many short calls: most need none of their own."""

    def __init__(self, log: DrivenLog) -> None:
        self._log = log
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A model call begins, in front of which something is not durable yet."""
        loop = asyncio.get_running_loop()
        self._due = loop.time() + FLUSH_AFTER_S
        if self._timer is None:
            self._timer = loop.call_at(self._due, self._look)

    def end(self) -> None:
        """The call is over."""
        self._due = None

    def _look(self) -> None:
        self._timer = None
        if self._due is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._due:
            self._timer = loop.call_at(self._due, self._look)  # it was armed for an earlier call
        else:
            self._log.flush_soon()

    def cancel(self) -> None:
        """No call follows."""
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ModelCalls:
    """The model calls of one driver."""

    def __init__(self, log: DrivenLog, agent: RunAgent, signal: AbortSignal, events: Events, watch: Watch) -> None:
        self._log, self._agent, self._signal, self._events = log, agent, signal, events
        self._watch = watch
        self._checked = 0
        self._known = Known()
        self._wait_ms = 0
        self._await: Interruptible[r.Turn | None] = Interruptible()

    async def ask(self, step: int) -> r.Turn | None:
        """One answer, or None when the signal came first.

        Raises:
            ProviderError: the call failed.
            SDKError: a hook or a guardrail stopped the run; or the transcript is not one a provider may be sent, a fault of ours.
        """
        self._must_be_valid()
        self._events.emit(StepStart(step=step))
        forget = self._signal.on_abort(self._await.interrupt)
        try:
            answer = await self._await.run(self._wait_and_ask(step)) if not self._signal.aborted else None
        finally:
            forget()
        return None if answer == INTERRUPTED else answer

    async def _wait_and_ask(self, step: int) -> r.Turn | None:
        wait_ms, self._wait_ms = self._wait_ms, 0
        if wait_ms:
            await self._log.clock.sleep(wait_ms / 1000)
        session = self._log.session
        self._known.catch_up(session.messages)
        return await ask_model(self._agent, session, step, self._events, Partials(self._log), self._known, self._watch)

    def wait_before_retry(self, error: ProviderError) -> int | None:
        """What the caller's policy says of a failed call: milliseconds to wait, None to give up.

        Raises:
            HookError: it raised, or said neither.
        """
        ask = self._agent.settings.on_model_error
        if ask is None:
            return None
        try:
            wait = ask(error, self._log.session.retries, self._log.clock.chance())
        except (Exception, *ESCAPES) as raised:
            raise HookError("on_model_error", f"failed: {type(raised).__name__}: {text_of(raised)[:300]}") from raised
        if inspect.iscoroutine(wait):
            wait.close()
        if wait is not None and (not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 <= wait < float("inf")):
            raise HookError("on_model_error", "must return milliseconds, or None to give up, and may not be async")
        self._wait_ms = int(wait or 0)
        return None if wait is None else self._wait_ms

    def _must_be_valid(self) -> None:
        """Checks what came since the last call; everything before was checked then."""
        messages = self._log.session.messages
        problem = check(messages, min(self._checked, len(messages)))
        if problem is not None:
            raise SDKError(
                f"the transcript is not valid at message {problem.index}: {problem.detail}",
                code="LOUSHO_TRANSCRIPT_INVALID",
                hint="Fork from an earlier step, or report this with: lousho export",
            )
        self._checked = len(messages)
