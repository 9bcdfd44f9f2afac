"""A pause as records: what waits for a person, bound to the very arguments that will run, and the mark that says so."""

from __future__ import annotations

import hashlib

from lousho_cli.core.gate import Ask
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval, digest_of
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import plain
from lousho_cli.domain.session import SoFar
from lousho_cli.domain.times import later


def pause(session: SoFar, call: ToolCall, ask: Ask, *, now: str, salt: str, ttl_ms: int | None) -> tuple[r.Record, ...]:
    """The run waits for a person to decide on a call.

    Args:
        salt: makes the approval's id this process's own.
        ttl_ms: how long a person may take where the rule that asks says nothing; None for ever.
    """
    allowed = ttl_ms if ask.ttl_ms is None else ask.ttl_ms
    approval = PendingApproval(
        id=hashlib.sha256(f"{salt}:{session.seq}:{call.id}".encode()).hexdigest()[:12],
        tool_call_id=call.id,
        tool_name=call.name,
        args=plain(ask.args)[0],
        digest=digest_of(ask.args),
        created_at=now,
        expires_at=None if allowed is None else later(now, allowed),
        kind=ask.kind,
        question=ask.question,
        agent_id=session.run.agent_id,
        hooked=ask.hooked,
        reason=ask.reason,
    )
    ruled = (ask.ruling,) if ask.ruling is not None else ()
    return (*ruled, *pause_on(session, approval))


def pause_on(session: SoFar, approval: PendingApproval) -> tuple[r.Record, ...]:
    """The run waits for ``approval``."""
    mark = r.Mark(session.step, "awaiting-approval", "awaiting-approval", approval_id=approval.id)
    return (r.WaitOpened(approval), mark)
