"""Removing a session, whole or all but its ring, and with it the background agents that it has started."""

from __future__ import annotations

import msgspec

from lousho_cli.app.loading import load
from lousho_cli.app.sessions import find_session, head_of
from lousho_cli.app.wiring import checkpoints_of
from lousho_cli.core.unwritable import newer_version
from lousho_cli.errors import SessionAwaitingApprovalError, SessionBusyError, StorageError
from lousho_cli.ports.log_store import LogStore


class Deletion(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was removed, or would be: ``deleted`` is False for a dry run. ``agents``: its background agents, deepest first."""

    session: str
    keep_history: bool
    deleted: bool
    messages: int
    agents: tuple[str, ...] = ()


async def plan_deletion(store: LogStore | None, name: str, *, keep_history: bool = False, force: bool = False) -> Deletion:
    """What ``delete`` would do; writes nothing.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: no session, or not one, is meant.
        SessionAwaitingApprovalError: it, or an agent of it, waits for a person and ``force`` is not given.
        SessionBusyError: somebody drives one of them; or it is such an agent itself, has not ended, and ``force`` is not given.
        LogVersionError: a newer version wrote one of them.
    """
    store, session_id = await find_session(store, name)
    agents = () if keep_history else await _agents_of(store, session_id)
    head = await head_of(store, session_id)
    if head is not None and head.lead is not None and head.outcome is None and not force and await store.head(head.lead) is not None:
        hint = f"Delete that one, and this goes with it; or delete it with --force, and its lead begins it anew: lousho delete {head.lead}"
        raise SessionBusyError(session_id, f"{head.lead}, whose background agent it is", hint=hint)
    for one in (session_id, *agents):
        await _require_known(store, one)
        await _must_rest(store, one, force=force)
    return Deletion(session_id, keep_history, deleted=False, messages=head.messages if head else 0, agents=agents)


async def _must_rest(store: LogStore, session_id: str, *, force: bool) -> None:
    head = await head_of(store, session_id)
    if head is not None and head.waits and not force:
        wait = head.waits[-1]
        waiting = SessionAwaitingApprovalError(session_id, wait.id, wait.kind)
        waiting.hint = f"Decide it first: lousho approve {wait.id} (or reject, or answer), or delete it with --force."
        raise waiting
    owner = await store.owner(session_id)
    if owner is not None:
        raise SessionBusyError(session_id, owner.describe(), hint=f"Stop it first: lousho abort {session_id}")


async def _agents_of(store: LogStore, session_id: str) -> tuple[str, ...]:
    """The sessions of the background agents of a session that are there, those of agents' agents before them."""
    try:
        started = (await load(store, session_id)).session.agents.values()
    except StorageError:
        return ()
    found: list[str] = []
    for agent in started:
        if await store.head(agent.session) is not None:
            found += [*await _agents_of(store, agent.session), agent.session]
    return tuple(found)


async def _require_known(store: LogStore, session_id: str) -> None:
    try:
        loaded = await load(store, session_id)
    except StorageError:  # nothing of it can be read: it may be deleted, and nothing says that it is newer
        return
    if loaded.newer:
        raise newer_version(session_id)


async def delete(store: LogStore, plan: Deletion) -> Deletion:
    """Does what ``plan_deletion`` said.

    Raises:
        SessionBusyError: somebody drives it by now.
        StorageError: it can not be written.
    """
    if plan.keep_history:
        await checkpoints_of(store).delete(plan.session, keep_history=True)
    else:
        for one in (*plan.agents, plan.session):  # the lead last: until it is gone it names them
            await store.delete(one)
    return msgspec.structs.replace(plan, deleted=True)
