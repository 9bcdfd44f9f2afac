"""Asking tools whether their calls need a person: the functions that are a tool's own ``needs_approval``.

One that answers at once costs nothing; one that has to be awaited runs beside the calls in front of
it, whose results are recorded meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from lousho_cli.core.decide import ConsultTool
from lousho_cli.core.gate import Consulted
from lousho_cli.executor.perform import consult
from lousho_cli.executor.run_agent import RunAgent


class Consults:
    """What is being asked, and what was answered. An answer holds for this process alone."""

    def __init__(self, agent: RunAgent) -> None:
        self._agent = agent
        self._asking: dict[asyncio.Future[Consulted], str] = {}
        self._answers: dict[str, Consulted] = {}

    @property
    def answers(self) -> Mapping[str, Consulted]:
        """By call id."""
        return self._answers

    @property
    def asking(self) -> frozenset[str]:
        """The calls whose answer is still to come."""
        return frozenset(self._asking.values())

    @property
    def futures(self) -> Collection[asyncio.Future[Consulted]]:
        """What to wait for."""
        return self._asking.keys()

    def ask(self, effect: ConsultTool) -> None:
        """Asks about one call."""
        answer = consult(self._agent, effect)
        if isinstance(answer, Consulted):
            self._answers[effect.call.id] = answer
        else:
            self._asking[asyncio.ensure_future(answer)] = effect.call.id

    def collect(self) -> None:
        """Takes the answers that came."""
        for future in [future for future in self._asking if future.done()]:
            call_id = self._asking.pop(future)
            if not future.cancelled():
                self._answers[call_id] = future.result()

    def forget(self) -> None:
        """A new turn: an answer was about a call of the one before, whatever its id."""
        self._answers = {}

    def drop(self) -> None:
        """Asks no more: the calls are cancelled or left for another process."""
        for future in self._asking:
            future.cancel()
        self._asking = {}
