"""The part of ``core.fold`` about background agents: which were started, and how each ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.domain import records as r
from lousho_cli.domain.session import AgentState


def _started(f: Accumulator, record: r.AgentStarted, _batch: r.Batch) -> None:
    if record.id not in f.agents:
        state = AgentState(record.name, record.session, record.messages, record.run_again, record.wake, record.group, record.by)
        f.agents = {**f.agents, record.id: state}


def _ended(f: Accumulator, record: r.AgentEnded, _batch: r.Batch) -> None:
    known = f.agents.get(record.id)
    if known is not None and known.outcome is None:
        ended = msgspec.structs.replace(known, messages=(), outcome=record.outcome, text=record.text, error=record.error, code=record.code)
        f.agents = {**f.agents, record.id: ended}


AGENTS: dict[type, Callable[[Accumulator, Any, r.Batch], None]] = {r.AgentStarted: _started, r.AgentEnded: _ended}
"""What each record of a background agent does."""
