"""Tools that work in a folder of one host: the first call pins the thread to that host, and any other refuses such calls.

Which host that is stands in the log. It counts for as long as the host says that it lives; then the next one that
drives the thread takes its place. Other calls of the thread run on any host.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.session import HOST_FOLDER
from lousho_cli.errors import WrongHostError
from lousho_cli.executor.registry import ToolRegistry
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.sub_agents import SubAgentTool
from lousho_cli.ports.tool import Tool, ToolContext


class Pin:
    """Where the folder of one owned thread is. ``host_id``: this host's stable id, None for one that has none."""

    def __init__(self, log: SessionLog, host_id: str | None) -> None:
        self._log, self._host_id = log, host_id

    async def require_here(self) -> None:
        """Lets only a call pass whose folder is here, or shall be from now on.

        Raises:
            WrongHostError: it is on another host, which lives.
        """
        known = self._log.session.settings.get(HOST_FOLDER)
        if known is not None and known != self._host_id and await self._log.store.lives(known):
            raise WrongHostError(known)
        if self._host_id is not None and known != self._host_id:
            await self._log.record(r.SettingChanged(HOST_FOLDER, self._host_id))


class PinnedTool:
    """A tool whose calls need the folder; in everything else the tool itself."""

    def __init__(self, tool: Tool, pin: Pin) -> None:
        self._tool, self._pin = tool, pin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    async def call(self, args: Any, context: ToolContext) -> Any:
        await self._pin.require_here()
        return await self._tool.call(args, context)


def pinned(agent: RunAgent, pin: Pin) -> RunAgent:
    """The agent, whose tools and those of its sub-agents use a folder only where it is."""
    tools = {name: _pinned_tool(tool, pin) for name, tool in agent.tools.items()}
    if all(tools[name] is tool for name, tool in agent.tools.items()):
        return agent
    return msgspec.structs.replace(agent, tools=ToolRegistry(tools.values()))


def _pinned_tool(tool: Any, pin: Pin) -> Any:
    if isinstance(tool, SubAgentTool) and isinstance(tool.ready, RunAgent):
        ready = pinned(tool.ready, pin)
        if ready is tool.ready:
            return tool
        within = copy.copy(tool)
        within.ready = ready
        return within
    return PinnedTool(tool, pin) if getattr(tool, "uses_host_folder", False) is True else tool
