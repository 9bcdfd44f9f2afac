"""A sub-agent's part of a log, for who drives it: it looks like a whole log and writes into its lead's.

What is recorded here becomes ``Within`` records of the one log, numbered, appended and synced by the
lead's ``SessionLog``, so there is still one writer, one order and one claim.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager

from lousho_cli.core.advance import Plan
from lousho_cli.core.decide import AgentFacts, Live
from lousho_cli.core.sub_agents import within
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Run, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import Claim, LogStore


class SubLog:
    """The part of the log that ``calls`` lead to."""

    def __init__(self, lead: SessionLog, calls: tuple[str, ...]) -> None:
        self._lead, self.calls = lead, calls

    @property
    def id(self) -> str:
        return self._lead.id

    @property
    def store(self) -> LogStore:
        return self._lead.store

    @property
    def clock(self) -> Clock:
        return self._lead.clock

    @property
    def claim(self) -> Claim:
        return self._lead.claim

    @property
    def session(self) -> Session:
        """The sub-agent's own session; an empty one before its first record."""
        return self._lead.session_at(self.calls)

    @property
    def seq(self) -> int:
        return self._lead.seq

    @property
    def run(self) -> Run:
        return self._lead.fold_at(self.calls).run

    @property
    def messages(self) -> Shared[Message]:
        return self._lead.fold_at(self.calls).messages.view()

    @property
    def turns(self) -> int:
        return self._lead.fold_at(self.calls).turns

    def deadline(self) -> str | None:
        return self.run.deadline

    @property
    def unsynced(self) -> bool:
        return self._lead.unsynced

    def plan(self, happened: Sequence[r.Record], agent: AgentFacts, live: Live) -> Plan:
        """As ``SessionLog.plan``; the batches are the lead's."""
        return self._lead.plan(happened, agent, live, self.calls)

    def write(self, batches: Sequence[r.Batch], *, durable: bool = True, held: bool = False) -> Awaitable[None]:
        return self._lead.write(batches, durable=durable, held=held)

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[None]:
        async with self._lead.holding():
            yield

    async def record(self, *records: r.Record, durable: bool = True) -> None:
        await self._lead.record(*within(self.calls, records), durable=durable)

    def vouch(self, turn: r.Turn) -> None:
        self._lead.vouch(turn)

    def flush_soon(self) -> None:
        self._lead.flush_soon()

    def must_be_ours(self) -> None:
        self._lead.must_be_ours()

    def snapshot_due(self) -> bool:
        return self._lead.snapshot_due()

    async def snapshot(self) -> None:
        await self._lead.snapshot()

    @property
    def lead(self) -> SessionLog:
        """The log it is a part of."""
        return self._lead


DrivenLog = SessionLog | SubLog
"""What a driver drives: a lead's log, or a sub-agent's part of one."""


def part_of(log: DrivenLog, call_id: str) -> SubLog:
    """The part of the sub-agent that a call of the agent whose log this is has started."""
    return SubLog(log if isinstance(log, SessionLog) else log.lead, (*log.calls, call_id))
