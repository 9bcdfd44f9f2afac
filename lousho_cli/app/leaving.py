"""Leaving a decision for the owner of a session, and finding out whether it was this one that decided."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Post
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.ports.log_store import LogStore, Owner

Who = Literal["us", "another", "nobody"]

_WATCH_MS = 200

_SILENT_S = 2.0
"""How long nothing is said while an owner does not take a decision."""


@contextmanager
def patient(tell: Callable[[str], None]) -> Iterator[Callable[[Owner], None]]:
    """For who waits until an owner takes a decision that was left: gives what to call with the owner each time one looks.

    Says once whom it waits for, where that takes long; and what becomes of the decision, where nobody waits for it any more.
    """
    until = time.monotonic() + _SILENT_S

    def looks(owner: Owner) -> None:
        nonlocal until
        if time.monotonic() >= until:
            until = float("inf")
            tell(f"left for {owner.describe()}, which has not taken it yet")

    try:
        yield looks
    except asyncio.CancelledError:
        tell("the decision is kept, and counts once whoever drives the session takes it")
        raise


async def leave(store: LogStore, session_id: str, decision: ApprovalDecision, post_id: str, tell: Callable[[str], None]) -> Who:
    """Leaves a decision and waits for what comes of it.

    Returns:
        whether it was ours that decided; ``nobody`` when nothing did and nobody drives the session any more.
    """
    post = Post(id=post_id, kind="answer", at=SYSTEM_CLOCK.now(), by=decision.by, body=msgspec.to_builtins(decision))
    await store.post(session_id, post)
    with patient(tell) as looks:
        while True:
            owner = await store.owner(session_id)  # asked first: what its owner wrote before it left is read below
            who = await decided_by(store, session_id, decision.id, post_id)
            if who != "nobody":
                await store.discard(session_id, [post_id])
                return who
            if owner is None:
                return who
            looks(owner)
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
