"""What an application, and a model, can do with background agents: start some, look at them, wait for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from lousho_cli.core.background import Starts
from lousho_cli.domain.messages import Input, Message
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import AgentState
from lousho_cli.errors import ConfigurationError, InputRejectedError, NotFoundError
from lousho_cli.host.agents import LeadCompany, starting
from lousho_cli.host.following import Follower
from lousho_cli.host.persistence import survives
from lousho_cli.host.posting import said_in
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.sessions import read_session

WATCH_MS = 200


class AgentStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A background agent that has not ended. ``session`` is its own thread; ``waits_for`` what a person has to decide there."""

    id: str
    name: str
    session: str
    status: Literal["running", "waiting"] = "running"
    group: str | None = None
    waits_for: str | None = None


class AgentResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a background agent ended, and its whole answer."""

    id: str
    outcome: Literal["completed", "failed", "aborted"]
    text: str = ""
    error: str | None = None
    code: str | None = None


class AgentGroup(msgspec.Struct, frozen=True):
    """Agents that were started together, in the order they were named."""

    id: str
    agents: tuple[str, ...]


class StartsAgents:
    """The part of a ``HostSession`` about background agents."""

    _thread: Thread
    _terms: Terms
    _user: str | None

    if TYPE_CHECKING:

        def __init__(self, thread: Thread, terms: Terms, user: str | None, let_go: Callable[[], None]) -> None: ...

        def _must_be_open(self) -> None: ...

    async def start_agent(
        self,
        name: str,
        input: Input,
        *,
        run_again_after_crash: bool = False,
        start_turn_when_done: bool = False,
        agent_id: str | None = None,
    ) -> str:
        """Has an agent of the harness run beside this thread. Its end adds a note to the transcript.

        Args:
            name: which, of the harness's ``agents`` or ``subagents``.
            run_again_after_crash: should its host go, the next one runs it again, with what it had done. Else it has failed,
                with ``HOST_STOPPED_MESSAGE``.
            start_turn_when_done: the note begins a turn, unless the agent was cancelled.
            agent_id: makes starting the same twice the same as once.

        Returns:
            its id, once it is stored that it is to run.

        Raises:
            ConfigurationError: there is no such agent, nothing in the input, or no log that survives a crash to run again from.
            InputRejectedError: another agent was started under this id.
        """
        key = self._terms.clock.new_id() if agent_id is None else text_of(agent_id)
        await self._start(None, [(key, name, said_in(input))], run_again_after_crash, start_turn_when_done, named=agent_id is not None)
        return key

    async def start_agents(
        self,
        agents: Sequence[tuple[str, Input] | Mapping[str, Any]],
        *,
        run_again_after_crash: bool = False,
        start_turn_when_done: bool = False,
        group_id: str | None = None,
    ) -> AgentGroup:
        """``start_agent`` for several at once. One note tells of all, once the last has ended.

        Args:
            agents: each a name and an input, or ``{"name", "input"}``.
        """
        pairs = [(one["name"], one["input"]) if isinstance(one, Mapping) else (one[0], one[1]) for one in agents]
        if not pairs:
            raise ConfigurationError("a group has at least one agent", field="agents")
        group = self._terms.clock.new_id() if group_id is None else text_of(group_id)
        wanted = [(f"{group}-{number}", name, said_in(said)) for number, (name, said) in enumerate(pairs, 1)]
        await self._start(group, wanted, run_again_after_crash, start_turn_when_done, named=group_id is not None)
        return AgentGroup(group, tuple(key for key, _, _ in wanted))

    async def _start(
        self, group: str | None, wanted: Sequence[tuple[str, str, tuple[Message, ...]]], again: bool, wake: bool, *, named: bool
    ) -> None:
        self._must_be_open()
        if again and not survives(self._terms.store):
            raise ConfigurationError(
                "an agent can not run again after a crash: this host keeps its threads in memory",
                field="run_again_after_crash",
                hint="Give persistence a log store that survives, such as FileStore.",
            )
        post = starting(self._thread, self._terms.clock, self._user, wanted, group=group, run_again=again, wake=wake)
        await self._thread.submit(post)
        if named:
            known = (await read_session(self._terms.store, self._thread.id)).agents
            for key, name, said in wanted:
                if key in known and not _same(known[key], name, said):
                    raise InputRejectedError(f"another agent was started as {key}", hint="Use a new id.")

    async def agents(self) -> tuple[AgentStatus, ...]:
        """The background agents of this thread that have not ended, in the order they were started."""
        session = await read_session(self._terms.store, self._thread.id)
        found = []
        for key, agent in session.agents.items():
            if agent.outcome is None:
                head = await self._terms.store.head(agent.session)
                waits = head.waits_for.id if head is not None and head.waits_for is not None else None
                found.append(AgentStatus(key, agent.name, agent.session, "waiting" if waits else "running", agent.group, waits))
        return tuple(found)

    async def agent_result(self, agent_id: str) -> AgentResult:
        """Waits until a background agent has ended, whichever host drives it.

        Raises:
            NotFoundError: none was started under this id.
            AbortedError: this handle is closed.
        """
        follower = Follower(self._terms.store, self._thread.id)
        while True:
            session = await follower.look()
            agent = session.agents.get(agent_id)
            if agent is not None and agent.outcome is not None:
                whole = await read_session(self._terms.store, agent.session)
                return AgentResult(agent_id, agent.outcome, whole.answer if whole.exists else agent.text, agent.error, agent.code)
            if agent is None and not await self._starts_waiting(agent_id):
                raise no_agent(self._thread.id, agent_id)
            self._must_be_open()
            await self._terms.store.watch(self._thread.id, session.seq, WATCH_MS)

    async def _starts_waiting(self, agent_id: str) -> bool:
        """Whether a post that starts the agent waits for the owner elsewhere, or was taken in just now."""
        waiting = [post for post in await self._terms.store.inbox(self._thread.id) if post.kind == "agents"]
        if any(start.id == agent_id for post in waiting for start in msgspec.convert(post.body, Starts).agents):
            return True
        return agent_id in (await read_session(self._terms.store, self._thread.id)).agents

    async def agent(self, agent_id: str) -> Self:
        """A handle on the thread of a background agent: to answer what it asks, steer or cancel it, or watch it.

        Raises:
            NotFoundError: none was started under this id, or the harness has it no more.
        """
        self._must_be_open()
        known = (await read_session(self._terms.store, self._thread.id)).agents.get(agent_id)
        company = self._thread.company
        if known is None or not isinstance(company, LeadCompany):
            raise no_agent(self._thread.id, agent_id)
        thread = company.agents.of(self._thread, agent_id, known)
        if thread is None:
            raise no_agent(self._thread.id, agent_id)
        if known.outcome is None:
            await company.agents.begin(thread, agent_id, known)
        return type(self)(thread, self._terms, self._user, company.agents.held(self._thread, thread))


def no_agent(thread_id: str, agent_id: str) -> NotFoundError:
    """The error for an id under which nothing was started."""
    return NotFoundError(f"thread {thread_id} has no background agent {agent_id}", code="LOUSHO_BACKGROUND_AGENT_NOT_FOUND")


def _same(known: AgentState, name: str, said: tuple[Message, ...]) -> bool:
    return known.name == name and (known.outcome is not None or known.messages == said)
