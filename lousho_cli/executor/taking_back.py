"""Taking back an input that waits in a session that nobody drives."""

from __future__ import annotations

import socket

import msgspec

from lousho_cli.core.entering import AboutInput, entered
from lousho_cli.domain.heads import Post
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore


def taking_back(input_id: str, by: str | None = None, clock: Clock = SYSTEM_CLOCK) -> Post:
    """The wish that an input is taken back, for who drives its session."""
    return Post(clock.new_id(), "cancel", clock.now(), by, msgspec.to_builtins(AboutInput(input_id)))


async def take_back_input(store: LogStore, session_id: str, input_id: str, *, by: str | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
    """Has the log say that an input was taken back, so that it never runs; nothing where it does not wait any more.

    A wake that the session was given back with stands.

    Raises:
        SessionBusyError: somebody drives the session; leave the post of ``taking_back`` instead.
        StorageError: it can not be written.
    """
    log = await SessionLog.open(store, session_id, socket.gethostname(), clock, keep_ring=True)
    wake_at = None
    try:
        head = await store.head(session_id)
        wake_at = head.wake_at if head is not None else None
        left = [post for post in await store.inbox(session_id) if post.id == input_id and post.kind == "input"]
        for post in left:  # its owner had gone before it saw it
            await log.record(*entered(log.session, post, clock.now()))
        known = log.session.inputs.get(input_id)
        if known is not None and known.status == "received":
            await log.record(*entered(log.session, taking_back(input_id, by, clock), clock.now()))
        await store.discard(session_id, [post.id for post in left])
    finally:
        await log.close(wake_at)
