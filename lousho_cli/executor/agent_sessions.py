"""``agent.session(id)``: one conversation of an agent. A turn of it is the next message of its one log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lousho_cli.domain.messages import Input
from lousho_cli.executor.agent_runs import AgentRuns
from lousho_cli.executor.forks import ForkResult
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.streams import EventStream
from lousho_cli.executor.unfinished import PendingTurn


class AgentSession:
    """A session of an agent, by its id. It holds nothing itself: every call looks at the store."""

    def __init__(self, runs: AgentRuns, session_id: str) -> None:
        self._runs = runs
        self.id = session_id

    async def send(self, input: Input, **options: Any) -> RunResult:
        """The next message. A turn that did not end goes on first, and the message follows its results; see ``DurableAgent.send``."""
        return await self._runs.send(input, self.id, options)

    def stream(self, input: Input, **options: Any) -> EventStream[RunResult]:
        """``send`` as a stream of events."""
        return self._runs.streamed(lambda given: self._runs.send(input, self.id, given), options)

    async def resume(self, **options: Any) -> RunResult | None:
        """Finishes the turn that did not end; see ``DurableAgent.resume``."""
        return await self._runs.resume(self.id, options)

    def stream_resume(self, **options: Any) -> EventStream[RunResult | None]:
        """``resume`` as a stream of events; without any when nothing is pending."""
        return self._runs.streamed(lambda given: self._runs.resume(self.id, given), options)

    async def pending(self) -> PendingTurn | None:
        """The turn that did not end, and what it waits for; None when there is none."""
        return await self._runs.pending(self.id)

    async def discard_pending(self) -> bool:
        """Drops the turn that did not end, so that the next message begins from the state before it.

        What was said and done stays in the log and the history; calls that are open get cancelled results there, and
        what waits for a person can not be decided any more. The id of a dropped input stays used.

        Returns:
            whether there was one.

        Raises:
            SessionBusyError: somebody drives the session.
        """
        return await self._runs.discard(self.id)

    async def fork(self, from_step: int | str, patch: Mapping[str, Any] | None = None, new_session_id: str | None = None) -> ForkResult:
        """A new session from a kept step of this one; see ``AgentExecutor.fork``."""
        return await self._runs.fork(self.id, from_step, patch, new_session_id)
