"""``create_agent``: an agent with its provider, tools and store in one object.

Every method that runs something has a streamed form, which makes the same checks and takes the same
options: ``stream`` is ``send`` as events, ``stream_x`` is ``x`` as events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lousho_cli.core.resuming import DriftMode
from lousho_cli.domain.messages import Input
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.agent_approvals import AgentApprovals
from lousho_cli.executor.agent_options import check_defaults, settings_among
from lousho_cli.executor.agent_runs import AgentRuns
from lousho_cli.executor.agent_sessions import AgentSession
from lousho_cli.executor.agent_stores import AgentStores
from lousho_cli.executor.dynamic import AgentContext, agent_source
from lousho_cli.executor.forks import ForkResult
from lousho_cli.executor.registry import ToolRegistry, registry_from
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.run_agent import OnModelError
from lousho_cli.executor.streams import EventStream
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.tool import Tool

AgentTools = ToolRegistry | Mapping[str, Tool] | Iterable[Tool] | Callable[[AgentContext], Any]


class DurableAgent:
    """An agent that runs; make it with ``create_agent``.

    ``**options`` of ``send`` and ``resume`` are those of ``AgentExecutor.execute``, for this call in place of the agent's own.
    """

    def __init__(self, name: str, store: Any, runs: AgentRuns) -> None:
        self.name, self.store = name, store
        self._runs = runs
        self.approvals = AgentApprovals(runs)

    async def send(self, input: Input, session_id: str | None = None, **options: Any) -> RunResult:
        """Runs the agent on ``input``; with a session id every step is kept in the store.

        A finished session takes the input as its next message; one that did not end first goes on where it stopped.

        Raises:
            ConfigurationError: a session id without a store (code LOUSHO_CONFIG_MISSING_CHECKPOINT_STORE), a wrong option.
            SessionAwaitingApprovalError: a person must decide first; nothing ran.
            SessionBusyError, AgentDriftError, ProviderError, PropagatingToolError, StorageError: as ``AgentExecutor.execute``.
        """
        return await self._runs.send(input, session_id, options)

    def stream(self, input: Input, session_id: str | None = None, **options: Any) -> EventStream[RunResult]:
        """``send`` as a stream of events; its ``result()`` is that of ``send``, and raises what ``send`` raises."""
        return self._runs.streamed(lambda given: self._runs.send(input, session_id, given), options)

    async def resume(self, session_id: str, **options: Any) -> RunResult | None:
        """Finishes a session that did not end: its open calls first, then the model.

        Returns:
            the result; None when nothing is pending: the session is unknown or it ended.

        Raises:
            SessionAwaitingApprovalError: a person must decide first. Where the approval is gone from its store, the call is
                gated again instead.
            The others: as ``send``.
        """
        return await self._runs.resume(session_id, options)

    def stream_resume(self, session_id: str, **options: Any) -> EventStream[RunResult | None]:
        """``resume`` as a stream of events; without any when nothing is pending."""
        return self._runs.streamed(lambda given: self._runs.resume(session_id, given), options)

    async def fork(
        self, session_id: str, from_step: int | str, patch: Mapping[str, Any] | None = None, new_session_id: str | None = None
    ) -> ForkResult:
        """A new session from a kept step of another; ``resume`` goes on with it. See ``AgentExecutor.fork``."""
        return await self._runs.fork(session_id, from_step, patch, new_session_id)

    def session(self, id: str | None = None) -> AgentSession:
        """A conversation under this id, under a new one where none is given. Nothing is written before its first message.

        Raises:
            ConfigurationError: the agent has no store that keeps sessions, or the id is no text.
        """
        self._runs.stores.checkpoints  # noqa: B018 - refuses at once what every call would refuse
        if id is not None and (not isinstance(id, str) or not id):
            raise ConfigurationError(f"{id!r:.60} is no session id", field="id", code="LOUSHO_SESSION_ID_INVALID")
        return AgentSession(self._runs, id or self._runs.clock.new_id())


def create_agent(
    provider: Provider,
    *,
    store: Any = None,
    instructions: str | Callable[[AgentContext], Any] = "",
    name: str = "agent",
    tools: AgentTools = (),
    model: str | Callable[[AgentContext], Any] | None = None,
    on_agent_drift: DriftMode = "warn",
    on_model_error: OnModelError | None = None,
    **options: Any,
) -> DurableAgent:
    """Makes an agent that can be sent messages, resumed, forked and asked what waits for a person.

    Args:
        provider: the model.
        store: an object, or a dictionary, with ``checkpoints`` and ``approvals``: ``memory_store()``, a ``FileStore``, your
            own. Without it there are no sessions, and what waits for a person waits in this process alone.
        instructions: the system prompt. name: also what drift and lists call the agent.
        tools: from ``define_tool`` or ``function_tool``. model: the provider's own when None.
            instructions, tools and model may each be a function of an ``AgentContext``.
        on_agent_drift: what it means that a run was saved with another agent: warn, error or ignore.
        on_model_error: ``retry_transient_errors()``; None never retries.
        options: every other setting of ``AgentExecutor.execute`` that is not about one call (``max_steps``,
            ``tool_concurrency``, ``requires_approval``, ``sandbox_execute``, …), for all runs.

    Raises:
        ConfigurationError, RangeError: a part that makes no sense; ``field`` names it.
    """
    if provider is None:
        raise ConfigurationError("provider is missing", field="provider", code="LOUSHO_CONFIG_MISSING_PROVIDER")
    if not isinstance(name, str) or not name:
        raise ConfigurationError(
            f"{name!r:.60} is no name of an agent", field="name", hint="Use text: lists and warnings call the agent by it."
        )
    defaults = check_defaults({**options, "on_agent_drift": on_agent_drift, "on_model_error": on_model_error})
    agent: dict[str, Any] = {"name": name, "instructions": instructions, "model": model}
    if callable(tools):
        agent["tools"], tools = tools, ()
    registry = registry_from(tools)
    agent_source(agent, provider, registry, settings_among(defaults), defaults.get("metadata"))  # to refuse it now, not in a run
    return DurableAgent(name, store, AgentRuns(agent, provider, registry, AgentStores(store), defaults))
