"""The part of ``core.heads`` about background agents: those that were started and have not ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.session import AgentState


def shown_agents(agents: Mapping[str, AgentState]) -> dict[str, str]:
    """The session of each that has not ended, by id."""
    return {agent_id: state.session for agent_id, state in agents.items() if state.outcome is None}


def _started(d: Any, record: r.AgentStarted, _batch: r.Batch) -> None:
    if record.id not in d.agents:
        d.agents = {**d.agents, record.id: record.session}


def _ended(d: Any, record: r.AgentEnded, _batch: r.Batch) -> None:
    d.agents = {agent_id: session for agent_id, session in d.agents.items() if agent_id != record.id}


AGENTS: dict[type, Callable[[Any, Any, r.Batch], bool | None]] = {r.AgentStarted: _started, r.AgentEnded: _ended}
"""What each record of one does, to a ``heads._Draft``."""
