"""Which calls start sub-agents, and what a sub-agent waits for as its lead sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.times import later, ms_between


def facts_of(tool: Any) -> Any | None:
    """The ``AgentFacts`` of the sub-agent that a tool's calls start, None for any other tool."""
    return getattr(tool, "facts", None)


def goes_on_within(tool: Any) -> bool:
    """Whether a call that was started goes on where it stopped, instead of counting as cut."""
    return facts_of(tool) is not None


def in_background(args: Any) -> bool:
    """Whether a call, by its arguments, wants its sub-agent to run beside the session, not within it."""
    return isinstance(args, Mapping) and args.get("background") is True


def wait_of_lead(call: ToolCall, wait: PendingApproval, now: str) -> PendingApproval:
    """What a sub-agent waits for, as its lead waits for it from ``now`` on: while another was decided first, nobody could see it."""
    expires_at = wait.expires_at
    if expires_at is not None:
        expires_at = later(expires_at, max(ms_between(wait.created_at, now), 0))
    path, calls = (call.name, *wait.path), (call.id, *wait.calls)
    return msgspec.structs.replace(wait, path=path, calls=calls, created_at=now, expires_at=expires_at)


def within(calls: tuple[str, ...], records: Iterable[r.Record]) -> tuple[r.Record, ...]:
    """Records of the sub-agent that ``calls`` lead to, as its lead's log holds them; those of sub-agents of its own among them.

    A user's own records stand in the log beside ours, whichever agent's tool kept them.
    """
    found: list[r.Record] = []
    for nested, group in groupby(records, key=_whose):
        if nested is None:
            found += group
        elif nested:
            found += [r.Within((*calls, *nested), record.records) for record in group if isinstance(record, r.Within)]
        else:
            found.append(r.Within(calls, tuple(record for record in group if not isinstance(record, r.Within))))
    return tuple(found)


def _whose(record: r.Record) -> tuple[str, ...] | None:
    if isinstance(record, r.Foreign):
        return None
    return record.calls if isinstance(record, r.Within) else ()


def tools_at(tools: Mapping[str, Any], wait: PendingApproval) -> Mapping[str, Any]:
    """The tools of the agent, at whatever depth, whose call waits; none where an agent on the way is gone."""
    for name in wait.path:
        facts = facts_of(tools.get(name))
        if facts is None:
            return {}
        tools = facts.tools
    return tools
