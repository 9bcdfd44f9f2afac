"""What an agent made by ``create_agent`` can do, once; its faces (agent, session, approvals) only name it.

Each of these makes the checks of ``AgentExecutor``, because each is one call of it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from lousho_cli.domain.messages import Input
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.agent_options import check_for_resume, check_for_send, for_decision
from lousho_cli.executor.agent_stores import AgentStores
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.forks import ForkResult
from lousho_cli.executor.registry import ToolRegistry
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.streams import EventStream
from lousho_cli.executor.unfinished import PendingTurn, discard_turn, has_work, pending_turn
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import Provider

Result = TypeVar("Result")


class AgentRuns:
    """An agent with all that its runs need.

    agent: as ``AgentExecutor.execute`` takes it. options: those of ``execute`` that hold for every run.
    """

    def __init__(
        self, agent: Mapping[str, Any], provider: Provider, tools: ToolRegistry, stores: AgentStores, options: Mapping[str, Any]
    ) -> None:
        self.agent, self.stores, self.options = agent, stores, options
        self._provider, self._tools = provider, tools

    @property
    def clock(self) -> Clock:
        clock: Clock = self.options.get("clock", SYSTEM_CLOCK)
        return clock

    async def send(self, input: Input, session_id: str | None, options: Mapping[str, Any]) -> RunResult:
        return await self._execute(input, session_id, check_for_send(options))

    async def resume(self, session_id: str, options: Mapping[str, Any]) -> RunResult | None:
        checked = check_for_resume(options)
        return await self._execute([], session_id, checked) if await has_work(session_id, self.stores.checkpoints) else None

    async def _execute(self, input: Input, session_id: str | None, options: Mapping[str, Any]) -> RunResult:
        return await AgentExecutor.execute(
            self.agent,
            input,
            self._provider,
            self._tools,
            session_id=session_id,
            checkpoint_store=None if session_id is None else self.stores.checkpoints,
            approval_store=self.stores.approvals,
            **{**self.options, **options},
        )

    async def decide(self, decision: Mapping[str, Any], options: Mapping[str, Any]) -> RunResult:
        return await resume_after_approval(
            decision,
            self.stores.approvals,
            self._tools,
            self._provider,
            {**for_decision(self.options), "agent": self.agent, **options},
            self.stores.kept,
        )

    async def fork(self, session_id: str, from_step: int | str, patch: Mapping[str, Any] | None, new_session_id: str | None) -> ForkResult:
        return await AgentExecutor.fork(session_id, from_step, self.stores.checkpoints, patch, new_session_id, clock=self.clock)

    async def pending(self, session_id: str) -> PendingTurn | None:
        return await pending_turn(session_id, self.stores.checkpoints)

    async def discard(self, session_id: str) -> bool:
        return await discard_turn(session_id, self.stores.checkpoints, self.stores.approvals, self.clock)

    def streamed(self, run: Callable[[Mapping[str, Any]], Coroutine[Any, Any, Result]], options: Mapping[str, Any]) -> EventStream[Result]:
        """A run as a stream of its events; ``run`` gets the options with the stream as the listener."""
        given = dict(options)
        listener = given.pop("on_event", self.options.get("on_event"))
        signal = given.pop("signal", self.options.get("signal"))
        return EventStream(lambda on_event, aborted: run({**given, "on_event": on_event, "signal": aborted}), listener, signal)
