"""Looking after background agents. Each is a thread of its own under a harness of its lead's; its end is a post to its lead.

    lead's log: agent_started ──▶ the agent's thread: its input, driven like any other
    lead's log: agent_ended   ◀── a post, once the agent's own log says that it ended

Who drives a lead, or takes it up, sees which agents of it have not ended, and takes each up whose host is gone. What
becomes of one is what becomes of any run that was left, only that one which is not to run again has failed. Nothing is
remembered here: an agent that ended and was not told of is taken up, does nothing, and is told of.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from lousho_cli.core.answering import only_decided
from lousho_cli.core.background import Start, Starts, agent_session_id, end_of, harness_of_agent, stopped, too_many
from lousho_cli.core.entering import InputBody
from lousho_cli.core.recovery import Recovery
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.domain.session import AgentState, Session
from lousho_cli.errors import AbortedError, ConfigurationError, SDKError
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.host.company import Company
from lousho_cli.host.harness import Harness
from lousho_cli.host.persistence import survives
from lousho_cli.host.recover_hook import RecoverInfo
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.sessions import read_session

log_to = logging.getLogger("lousho")


class Agents:
    """Those of one host. ``threads`` are all that it has open, ``let_go`` takes back one of the handles on such a thread."""

    def __init__(self, terms: Terms, threads: dict[str, Thread], let_go: Callable[[Thread], None]) -> None:
        self._terms, self._threads, self._let_go = terms, threads, let_go
        self._tending: dict[str, tuple[Thread, asyncio.Task[None]]] = {}
        self._anew: set[str] = set()
        self._starting = asyncio.Lock()
        self.closed = False
        """Whether none is taken up any more."""

    def of(self, lead: Thread, agent_id: str, agent: AgentState) -> Thread | None:
        """The thread of an agent, None where the lead's harness has none of its name.

        Raises:
            AbortedError: its host is closed.
        """
        known = self._threads.get(agent.session)
        if known is not None:
            return known
        if self.closed:
            raise AbortedError(f"the host of thread {lead.id} is closed", hint="Open it on another host.")
        harness = _harness(lead, agent)
        if harness is None:
            log_to.warning("%s: its background agent %s is left alone: its harness has no agent %s", lead.id, agent_id, agent.name)
            return None
        company = _AgentCompany(self, lead, agent_id)
        thread = self._threads[agent.session] = Thread(self._terms, harness, agent.session, lead.tenant, company)
        thread.only_swept = lead.only_swept
        return thread

    def tend(self, lead: Thread, session: Session, *, anew: bool = False) -> None:
        """Takes up the agents of ``lead`` that have not ended and that nobody here tends.

        Args:
            anew: also those that are tended, once they rest: somebody else may have changed one that was just left.
        """
        for agent_id, agent in session.agents.items():
            if agent.outcome is None and agent.session in self._tending and anew:
                self._anew.add(agent.session)
            elif agent.outcome is None and agent.session not in self._tending and not self.closed:
                thread = self.of(lead, agent_id, agent)
                if thread is not None:
                    self._tending[agent.session] = (lead, asyncio.ensure_future(self._drive(lead, thread, agent_id, agent)))

    async def idle(self, lead: Thread) -> None:
        """Returns once this host drives neither ``lead`` nor an agent of it, nor one of theirs."""
        await lead.idle()
        while tasks := [task for above, task in self._tending.values() if not task.done() and _is_under(above, lead)]:
            await asyncio.wait(tasks)
            await lead.idle()

    async def ended(self) -> None:
        """Returns once those that were tended are so no more; for when it is closed, as no other comes then."""
        if self._tending:
            await asyncio.wait([task for _, task in self._tending.values()])

    def may_start(self, lead: Thread, agent: RunAgent) -> RunAgent:
        """The agent, whose model may have others run in the background."""
        return msgspec.structs.replace(agent, in_background=partial(self._started_by_model, lead))

    async def _started_by_model(self, lead: Thread, call_id: str, name: str, said: str) -> dict[str, Any]:
        """Starts an agent for a call. That may run again: the agent is named by it, and starts once.

        Raises:
            ConfigurationError: there may be no more; the model is told why.
        """
        async with self._starting:  # two calls of one answer are not counted apart
            why = None if call_id in lead.session.agents else too_many(lead.session, lead.company.depth, lead.harness.background)
            if why is not None:
                raise ConfigurationError(why, field="background", code="LOUSHO_BACKGROUND_LIMIT")
            return await self._started(lead, call_id, name, said)

    async def _started(self, lead: Thread, call_id: str, name: str, said: str) -> dict[str, Any]:
        again = lead.harness.durability.resume_background_agents and survives(self._terms.store)
        wanted = [(call_id, name, (user(said),))]
        await lead.submit(starting(lead, self._terms.clock, lead.asked_by, wanted, run_again=again, wake=True))
        return {"agent": call_id, "started": True}

    def held(self, lead: Thread, thread: Thread) -> Callable[[], None]:
        """A handle on both, and what takes it back."""
        lead.handles += 1
        thread.handles += 1

        def let_go() -> None:
            self._let_go(thread)
            self._let_go(lead)

        return let_go

    async def _drive(self, lead: Thread, thread: Thread, agent_id: str, agent: AgentState) -> None:
        """Until the agent rests, or turns out to be driven elsewhere."""
        let_go = self.held(lead, thread)
        try:
            goes_on = True
            while goes_on:
                self._anew.discard(agent.session)
                await self.begin(thread, agent_id, agent)
                await thread.idle()
                goes_on = agent.session in self._anew and not self.closed
        except SDKError as error:
            log_to.warning("%s: background agent %s could not be taken up: %s", lead.id, agent_id, error)
        finally:
            self._tending.pop(agent.session, None)
            self._anew.discard(agent.session)
            let_go()

    async def begin(self, thread: Thread, agent_id: str, agent: AgentState) -> None:
        """Gives an agent its input, where it has not got it; takes it up where nobody drives it. Raises like ``Thread.submit``."""
        body = msgspec.to_builtins(InputBody(agent.messages))
        await thread.submit(Post(agent_id, "input", self._terms.clock.now(), agent.by, body))

    async def tell(self, lead: Thread, agent_id: str, thread: Thread) -> None:
        """Tells a lead of the end of its agent, where that has ended."""
        terms = self._terms
        try:
            end = end_of(agent_id, await read_session(terms.store, thread.id))
            if end is not None:
                await lead.submit(Post(f"agent-ended.{agent_id}", "agent_ended", terms.clock.now(), None, msgspec.to_builtins(end)))
        except SDKError as error:  # whoever takes the lead up finds that it was not told
            log_to.warning("%s: it could not be told that its background agent %s ended: %s", lead.id, agent_id, error)


class LeadCompany(Company):
    """That of a thread which may have agents."""

    def __init__(self, agents: Agents) -> None:
        self.agents = agents

    def seen(self, thread: Thread, session: Session, *, anew: bool = False) -> None:
        if session.agents:
            self.agents.tend(thread, session, anew=anew)

    def dressed(self, thread: Thread, agent: RunAgent) -> RunAgent:
        return self.agents.may_start(thread, agent) if thread.harness.agents else agent

    async def idle(self, thread: Thread) -> None:
        await self.agents.idle(thread)


class _AgentCompany(LeadCompany):
    """That of a background agent, which may have agents too."""

    def __init__(self, agents: Agents, lead: Thread, agent_id: str) -> None:
        super().__init__(agents)
        self.lead: Thread = lead
        self._agent_id = agent_id

    async def rested(self, thread: Thread) -> None:
        await self.agents.tell(self.lead, self._agent_id, thread)


def _is_under(thread: Thread | None, lead: Thread) -> bool:
    """Whether ``thread`` is ``lead``, or an agent of it, at whatever depth."""
    return thread is not None and (thread is lead or _is_under(thread.company.lead, lead))


def _harness(lead: Thread, agent: AgentState) -> Harness | None:
    given = lead.harness.agents.get(agent.name)
    if given is None:
        return None
    durability = msgspec.structs.replace(given.durability, recover=None if agent.run_again else _not_again)
    name = harness_of_agent(lead.harness.name, agent.name)
    return msgspec.structs.replace(given, name=name, lead=lead.id, durability=durability, background=lead.harness.background)


def _not_again(info: RecoverInfo) -> Recovery:
    """What becomes of an agent that is not to run again; one that never ran does for the first time, one that stood still goes on."""
    return stopped(info.decision) if info.input.attempt and not only_decided(info.session.state) else info.decision


def starting(
    lead: Thread,
    clock: Clock,
    by: str | None,
    wanted: Iterable[tuple[str, str, tuple[Message, ...]]],
    *,
    group: str | None = None,
    run_again: bool,
    wake: bool,
) -> Post:
    """The post that starts agents, each an id, a name and its input.

    Raises:
        ConfigurationError: the harness of the lead has none of such a name.
    """
    starts = []
    for agent_id, name, said in wanted:
        if name not in lead.harness.agents:
            there = ", ".join(sorted(lead.harness.agents)) or "none"
            raise ConfigurationError(f"the harness has no agent {name}", field="name", hint=f"It has: {there}.")
        starts.append(Start(agent_id, name, agent_session_id(lead.id, name, agent_id), said, run_again, wake))
    body = Starts(tuple(starts), group)
    return Post(f"agents.{group or starts[0].id}", "agents", clock.now(), by, msgspec.to_builtins(body))
