"""Removing a session, whole or all but its ring."""

from __future__ import annotations

import msgspec

from lousho_cli.app.loading import load
from lousho_cli.app.sessions import find_session, head_of
from lousho_cli.app.wiring import checkpoints_of
from lousho_cli.errors import SessionAwaitingApprovalError, SessionBusyError, StorageError
from lousho_cli.executor.session_log import newer_version
from lousho_cli.ports.log_store import LogStore


class Deletion(msgspec.Struct, frozen=True):
    """What was removed, or would be: ``deleted`` is False for a dry run."""

    session: str
    keep_history: bool
    deleted: bool
    messages: int


async def plan_deletion(store: LogStore | None, name: str, *, keep_history: bool = False, force: bool = False) -> Deletion:
    """What ``delete`` would do; writes nothing.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: no session, or not one, is meant.
        SessionAwaitingApprovalError: it waits for a person and ``force`` is not given.
        SessionBusyError: somebody drives it.
        LogVersionError: a newer version wrote it.
    """
    store, session_id = await find_session(store, name)
    await _require_known(store, session_id)
    head = await head_of(store, session_id)
    if head is not None and head.waits and not force:
        wait = head.waits[-1]
        waiting = SessionAwaitingApprovalError(session_id, wait.id, wait.kind)
        waiting.hint = f"Decide it first: lousho approve {wait.id} (or reject, or answer), or delete it with --force."
        raise waiting
    owner = await store.owner(session_id)
    if owner is not None:
        raise SessionBusyError(session_id, owner.describe(), hint=f"Stop it first: lousho abort {session_id}")
    return Deletion(session_id, keep_history, deleted=False, messages=head.messages if head else 0)


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
        await store.delete(plan.session)
    return msgspec.structs.replace(plan, deleted=True)
