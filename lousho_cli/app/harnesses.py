"""An agent file as a harness: what a host needs to drive its sessions as ``lousho run`` would.

A session belongs to the harness of its agent's name, whoever began it: ``run``, a worker or a host in Python. What
``run`` begins says no harness of its own; the agent's name stands for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from lousho_cli.app.agent_mcp import NOTHING, Offered, servers_of
from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.agents import stored_path
from lousho_cli.app.preparing import Prepared, RunFlags, prepare
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.dynamic import AgentSource, FixedAgent
from lousho_cli.executor.registry import registry_from
from lousho_cli.executor.run_agent import RunAgent, RunSettings, run_agent
from lousho_cli.host.harness import Durability, Harness, agents_in
from lousho_cli.host.joining import joining_rule

NO_FLAGS = RunFlags()
"""Nothing was said on a command line."""


class FileAgent:
    """The agent of a file, made ready for each session it goes on with: an unfinished run keeps its own step limit.

    Args:
        flags: what a person said about how to run; they beat the file.
        offered: the tools of its MCP servers, which have to be open for as long as this is used.
    """

    def __init__(self, file: AgentFile, flags: RunFlags = NO_FLAGS, offered: Offered = NOTHING) -> None:
        self.file = file
        self._flags, self._offered = flags, offered
        self._prepared: dict[int | None, tuple[Prepared, RunAgent]] = {}

    def prepared(self, session: Session | None = None) -> Prepared:
        """The agent as it goes on with ``session``. Raises what ``prepare`` does."""
        return self._for(session)[0]

    async def agent_for(self, session: Session, new: Sequence[Message], session_id: str | None, signal: AbortSignal) -> RunAgent:
        """Raises what ``prepare`` does."""
        return self._for(session)[1]

    def _for(self, session: Session | None) -> tuple[Prepared, RunAgent]:
        limit = session.run.max_steps if session is not None and session.exists and not session.ended else None
        if limit not in self._prepared:
            made = prepare(self.file, self._flags, session, self._offered)
            self._prepared[limit] = made, _ready(made)
        return self._prepared[limit]


def _ready(prepared: Prepared) -> RunAgent:
    settings = RunSettings(**prepared.settings, can_join=joining_rule(None))
    return run_agent(prepared.agent, prepared.provider, registry_from(prepared.tools), settings)


@asynccontextmanager
async def agent_of(file: AgentFile, flags: RunFlags = NO_FLAGS) -> AsyncIterator[FileAgent]:
    """The agent of a file for a block, with the MCP servers it uses started before and closed behind it.

    Raises:
        ConfigurationError: something in the file, the configuration or the flags can not be used.
        McpServerError: a server can not be started or reached.
    """
    async with servers_of(file) as offered:
        agent = FileAgent(file, flags, offered)
        agent.prepared()
        yield agent


def harness_of(agent: FileAgent, store: str | None = None, name: str | None = None) -> Harness:
    """The harness of an agent: how its runs live on is as its file says.

    Args:
        store: what ``--store`` said, None for nothing: sessions keep the path from there to the file.
        name: its name; None for the agent's.
    """
    return _harness(agent.prepared(), agent, store, name)


def harness_of_one(prepared: Prepared, store: str | None, name: str | None) -> Harness:
    """The harness of an agent that was made ready for one session, as a person drives it. Takes what ``harness_of`` does."""
    return msgspec.structs.replace(_harness(prepared, FixedAgent(_ready(prepared)), store, name), nameless=True)


def _harness(prepared: Prepared, source: AgentSource, store: str | None, name: str | None) -> Harness:
    file, said, on_drift = prepared.file, prepared.file.durability, prepared.settings["on_agent_drift"]
    durability = Durability(
        max_attempts=said.max_attempts,
        timeout_ms=said.timeout_ms,
        interrupted_tool_result=said.interrupted_tool_result,
        truncated_tool_result=said.truncated_tool_result,
        continue_cut_off=said.continue_cut_off,
        resume_background_agents=said.resume_background_agents,
        replay=said.replay,
    )
    return Harness(
        name=name or file.name,
        source=source,
        durability=durability,
        on_agent_drift=on_drift,
        agent_path=stored_path(file, store),
        agents=agents_in(_ready(prepared).tools.values(), durability, on_drift) if file.subagents else {},
        history_limit=said.history_limit,
        background=file.policy.limits.background,
    )
