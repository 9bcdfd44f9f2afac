"""Leaving a decision for the owner of a session, and finding out whether it was this one that decided."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Post
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.ports.log_store import LogStore

Who = Literal["us", "another", "nobody"]

_WATCH_MS = 200


async def leave(store: LogStore, session_id: str, decision: ApprovalDecision, post_id: str) -> Who:
    """Leaves a decision and waits for what comes of it.

    Returns:
        whether it was ours that decided; ``nobody`` when nothing did and nobody drives the session any more.
    """
    post = Post(id=post_id, kind="answer", at=SYSTEM_CLOCK.now(), by=decision.by, body=msgspec.to_builtins(decision))
    await store.post(session_id, post)
    while True:
        driven = await store.owner(session_id) is not None  # asked first: what its owner wrote before it left is read below
        who = await decided_by(store, session_id, decision.id, post_id)
        if who != "nobody":
            await store.discard(session_id, [post_id])
            return who
        if not driven:
            return who
        await store.watch(session_id, (await store.read(session_id)).head, _WATCH_MS)


async def decided_by(store: LogStore, session_id: str, approval_id: str, post_id: str) -> Who:
    """Who decided, as the log says."""
    opened = False
    for batch in (await store.read(session_id)).batches:
        for record in batch.records:
            if isinstance(record, r.WaitAnswered) and record.id == approval_id:
                return "us" if post_id and record.post == post_id else "another"
            if isinstance(record, r.WaitOpened):
                opened = opened or record.approval.id == approval_id
            elif isinstance(record, r.InputSettled | r.Cleared) and opened:
                return "another"  # it was aborted while it waited
            elif isinstance(record, r.Base) and approval_id in record.state.decided:
                return "another"  # the log was trimmed since, and does not say any more who it was
    return "nobody"
