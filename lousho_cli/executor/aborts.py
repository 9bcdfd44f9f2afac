"""Settling a session that nobody drives as aborted, and calling off its background agents. No model and no tool is needed for it."""

from __future__ import annotations

import socket

from lousho_cli.core.background import calling_off
from lousho_cli.core.decide import AgentFacts, Live
from lousho_cli.core.entering import entered
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.leads import tell_lead
from lousho_cli.executor.places import log_store_of
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.checkpoints import CheckpointStore
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore

_NOBODY = AgentFacts(tools={}, begin=r.RunStarted(input_id=""))


async def abort_session(
    session_id: str, checkpoint_store: CheckpointStore, *, by: str | None = None, clock: Clock = SYSTEM_CLOCK
) -> Session:
    """Cancels the open calls of a session and settles its run as aborted; one that ended already stays as it is.

    Args:
        checkpoint_store: a view of a log store.
        by: who asks for it.

    Returns:
        the session as it is then.

    Raises:
        SessionBusyError: somebody drives it; leave a post instead.
        ConfigurationError: the store is no log store.
        StorageError: it can not be written.
    """
    store = log_store_of(checkpoint_store)
    if store is None:
        raise ConfigurationError("only a session of a log store can be aborted from outside", field="checkpoint_store")
    log = await SessionLog.open(store, session_id, socket.gethostname(), clock, keep_ring=True)
    try:
        session = log.session
        if session.exists and not session.ended and session.outcome is None:
            plan = log.plan([r.AbortAsked(by)], _NOBODY, Live(now=clock.now(), aborted=True))
            await log.write(plan.batches)
        left = [post.id for post in await store.inbox(session_id) if post.kind == "abort"]
        await store.discard(session_id, left)
        settled = log.session
    finally:
        await log.close()
    await tell_lead(store, settled.lead, clock)
    return settled


async def call_off_agents(store: LogStore, session_id: str, *, by: str | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
    """Has the log of a lead say that its background agents were aborted with it, so that nobody takes them up any more.

    Their own sessions are still to be settled.

    Raises:
        SessionBusyError: somebody drives the lead; leave the posts of ``calling_off`` instead.
        StorageError: it can not be written.
    """
    log = await SessionLog.open(store, session_id, socket.gethostname(), clock, keep_ring=True)
    try:
        posts = calling_off(log.session, clock.now(), by)
        for post in posts:
            await log.record(*entered(log.session, post, clock.now()))
        await store.discard(session_id, [post.id for post in posts])  # they were left for an owner that is gone
    finally:
        await log.close()
