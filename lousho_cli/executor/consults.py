"""Asking user code about a call before it may run: hooks, guardrails, and the tool's own ``needs_approval``.

Without hooks and guardrails only such a function is asked, and one that answers at once costs nothing; what has
to be awaited runs beside the calls in front of it, whose results are recorded meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from lousho_cli.core.decide import ConsultTool
from lousho_cli.core.gate import Consulted
from lousho_cli.domain.messages import ToolCall
from lousho_cli.executor.consulting import consult, consult_all
from lousho_cli.executor.perform import Fatal
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.ports.tool import ToolContext


class Consults:
    """What is being asked, and what was answered. An answer holds for this process alone.

    answers: what was answered, by call id. asking: the calls whose answer is still to come; futures: what to wait for.

    Args:
        context_of: gives what a tool is told about a call.
    """

    def __init__(self, agent: RunAgent, context_of: Callable[[ToolCall], ToolContext]) -> None:
        self._agent, self._context_of = agent, context_of
        self.answers: dict[str, Consulted] = {}
        self.asking: frozenset[str] = frozenset()
        self.futures: dict[asyncio.Future[Consulted], ToolCall] = {}

    def ask(self, effect: ConsultTool) -> None:
        """Asks about one call."""
        context = self._context_of(effect.call)
        answer: Consulted | Awaitable[Consulted]
        if self._agent.facts.policy.consults:
            answer = consult_all(self._agent, effect, context)
        else:
            answer = consult(self._agent, effect, context)
        if isinstance(answer, Consulted):
            self.answers[effect.call.id] = answer
        else:
            self.futures[asyncio.ensure_future(answer)] = effect.call
            self._recount()

    def collect(self) -> Sequence[Fatal]:
        """Takes the answers that came; gives what stops the run."""
        fatal: list[Fatal] = []
        if not self.futures:
            return fatal
        for future in [future for future in self.futures if future.done()]:
            call = self.futures.pop(future)
            if future.cancelled():
                continue
            error = future.exception()
            if error is None:
                self.answers[call.id] = future.result()
            else:
                fatal.append(Fatal(call, error))
        self._recount()
        return fatal

    def _recount(self) -> None:
        self.asking = frozenset(call.id for call in self.futures.values())

    def forget(self) -> None:
        """A new turn: an answer was about a call of the one before, whatever its id."""
        if self.answers:
            self.answers = {}

    def drop(self) -> None:
        """Asks no more: the calls are cancelled or left for another process."""
        for future in self.futures:
            future.cancel()
        self.futures, self.asking = {}, frozenset()
