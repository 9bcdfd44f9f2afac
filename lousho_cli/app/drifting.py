"""``drift``: stored sessions held against their agents of today. Nothing runs, nothing is written, no key is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from lousho_cli.app.agent_mcp import OfferedTo, servers_of_each
from lousho_cli.app.agents import AgentChoice, find_agent
from lousho_cli.app.loading import load, require_writable
from lousho_cli.app.preparing import Prepared, RunFlags, prepare
from lousho_cli.app.results import Status
from lousho_cli.app.sessions import find_session, is_cleared, read_heads
from lousho_cli.app.wiring import open_store
from lousho_cli.core.fingerprint import compare_fingerprints
from lousho_cli.core.resuming import DriftMode, drift_of, missing_tools
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.session import IMPORT_CUT, Session
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, McpServerError
from lousho_cli.ports.log_store import LogStore

Verdict = Literal["none", "changed", "warn", "refuse", "no-agent"]


class DriftOrder(msgspec.Struct, frozen=True):
    """Which sessions are compared with which agents. sessions: ids or their beginnings; none for all that did not end."""

    sessions: tuple[str, ...] = ()
    flags: RunFlags = RunFlags()
    choice: AgentChoice = AgentChoice()


class DriftFound(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One session and its agent of today.

    verdict: what going on with it would do: ``none`` (the agent is the same), ``changed`` (it is not, which nobody is
    told: drift is ignored here, or the session ended and the next input begins a run of its own), ``warn``,
    ``refuse``, ``no-agent`` (its agent is not found or can not be used; ``reason`` says why).
    mode: what a changed agent means here. drift: how it changed. missing_tools: those of calls still to run that are gone.
    waits_for: the approval it waits for.
    """

    session: str
    agent: str
    status: Status
    verdict: Verdict
    mode: DriftMode | None = None
    drift: AgentDrift | None = None
    missing_tools: tuple[str, ...] = ()
    waits_for: str | None = None
    reason: str | None = None


class DriftReport(msgspec.Struct, frozen=True):
    """The sessions that were compared, and those that were not, as (id, what is wrong)."""

    sessions: tuple[DriftFound, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def refused(self) -> bool:
        """Whether one of them would be refused."""
        return any(found.verdict == "refuse" for found in self.sessions)


async def find_drift(order: DriftOrder) -> DriftReport:
    """Compares sessions with their agents.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: a session that was named is not there, or not one.
        DamagedLogError, LogVersionError: one that was named can not be gone on with; of all, such are left out and told.
        ConfigurationError: the agent file that was named can not be used.
    """
    store = open_store(order.choice.store, create=False)
    async with servers_of_each() as offered_to:
        if order.sessions:
            named = dict.fromkeys([await find_session(store, name) for name in order.sessions])
            return DriftReport(tuple([await _compared(store, session_id, order, offered_to) for store, session_id in named]))
        return await _all(store, order, offered_to) if store is not None else DriftReport()


async def _all(store: LogStore, order: DriftOrder, offered_to: OfferedTo) -> DriftReport:
    heads = await read_heads(store)
    unread = list(heads.damaged)
    found = []
    open_ones = [head for head in heads.heads if head.status != "finished" and not is_cleared(head)]
    for head in sorted(open_ones, key=lambda head: (head.updated_at, head.id), reverse=True):
        if head.importing:
            unread.append((head.id, IMPORT_CUT))
            continue
        try:
            found.append(await _compared(store, head.id, order, offered_to))
        except (DamagedLogError, LogVersionError) as error:
            unread.append((head.id, error.detail))
    return DriftReport(tuple(found), tuple(unread))


async def _compared(store: LogStore, session_id: str, order: DriftOrder, offered_to: OfferedTo) -> DriftFound:
    loaded = await load(store, session_id)
    require_writable(loaded)
    session = loaded.session
    found = DriftFound(
        session=session_id,
        agent=session.agent,
        status=session.status,
        verdict="no-agent",
        waits_for=session.wait.id if session.wait and not session.wait_taken else None,
    )
    try:
        file = find_agent(session_id, session.agent, session.path, order.choice)
        return _judged(found, session, prepare(file, order.flags, session, await offered_to(file)))
    except (ConfigurationError, McpServerError) as error:
        if order.choice.agent is not None:
            raise  # it is the file that a person named
        return msgspec.structs.replace(found, reason=error.detail)


def _judged(found: DriftFound, session: Session, prepared: Prepared) -> DriftFound:
    facts, mode = prepared.facts, prepared.settings["on_agent_drift"]
    missing = () if session.ended else missing_tools(session, facts)
    now = facts.begin.fingerprint
    drift = compare_fingerprints(session.run.fingerprint, now) if session.ended and now else drift_of(session, facts)
    return msgspec.structs.replace(
        found, verdict=_verdict(drift, missing, mode, ended=session.ended), mode=mode, drift=drift, missing_tools=missing
    )


def _verdict(drift: AgentDrift | None, missing: Sequence[str], mode: DriftMode, *, ended: bool) -> Verdict:
    if missing or (drift is not None and mode == "error" and not ended):
        return "refuse"
    if drift is None:
        return "none"
    return "warn" if mode == "warn" and not ended else "changed"
