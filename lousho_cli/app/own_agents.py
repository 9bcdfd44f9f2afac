"""One host that drives sessions each on its own agent: what ``worker`` stands on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from lousho_cli.app.agents import find_agent
from lousho_cli.app.harnesses import FileAgent, agent_of, harness_of
from lousho_cli.app.own_credentials import OwnCredentials
from lousho_cli.app.worked import WorkOrder
from lousho_cli.domain.heads import Head
from lousho_cli.host.host import create_harness_host
from lousho_cli.host.observing import Observer, TurnEnd
from lousho_cli.ports.log_store import LogStore


class Driven(NamedTuple):
    """A session that was driven, and its head as it was given back; None where nothing was written to it."""

    head: Head | None


class OwnAgents:
    """Sessions of a store, each driven on the agent that ``lousho resume`` would find for it, for as long as it has work.

    Args:
        on_turn_end: gets each end of a turn.
    """

    def __init__(self, store: LogStore, order: WorkOrder, on_turn_end: Callable[[TurnEnd], None]) -> None:
        self._flags, self._choice = order.flags, order.choice
        ownership = {"expires_after_ms": order.lease_ms}
        observer, credentials = Observer(None, on_turn_end), OwnCredentials(store=store)
        self._host = create_harness_host({"log": store}, ownership=ownership, observer=observer, credentials=credentials)

    @asynccontextmanager
    async def agent_of(self, head: Head) -> AsyncIterator[FileAgent]:
        """The agent of a session, ready for a block.

        Raises:
            ConfigurationError: it can not be found or used.
            McpServerError: nor can a server of its.
        """
        async with agent_of(find_agent(head.id, head.agent, head.path, self._choice), self._flags) as agent:
            yield agent

    async def drive(self, head: Head, agent: FileAgent, begun: Callable[[], None] = lambda: None) -> Driven | None:
        """Drives a session that was found until it has nothing more to do; None where somebody else was quicker.

        It keeps the harness it has: whoever said or stored which agent is its own has decided that.
        """
        harness = harness_of(agent, self._choice.store, head.harness or head.agent or None)
        if not await self._host.resume_pending([harness], only=[head.id]):
            return None
        begun()
        return Driven(await self._host.idle(head.id))

    async def close(self) -> None:
        """Stops what runs, for others to go on with at once."""
        await self._host.close(recoverable=True)
