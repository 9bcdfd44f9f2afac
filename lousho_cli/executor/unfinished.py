"""The turn of a session that did not end, on any store: what it waits for, and how it is dropped."""

from __future__ import annotations

import socket
from typing import Any, Literal

import msgspec

from lousho_cli.core.discarding import checkpoint_before, discard_records, run_began_at
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.domain.session import Session
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.executor.places import log_store_of
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.checkpoints import ApprovalStore, CheckpointStore
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session


class PendingTurn(msgspec.Struct, frozen=True):
    """A turn that did not end. ``approval_id`` and ``approval_kind`` (tool, question, sign-in, secret): what a person must decide."""

    status: Literal["in-progress", "awaiting-approval"]
    approval_id: str | None = None
    approval_kind: str | None = None


async def pending_turn(session_id: str, checkpoints: CheckpointStore) -> PendingTurn | None:
    """The turn of a session that did not end, None when there is none. Writes nothing.

    Raises:
        StorageError: the store can not be read.
    """
    log_store = log_store_of(checkpoints)
    if log_store is None:
        return _turn_of(await _stored(session_id, checkpoints))
    session = await read_session(log_store, session_id)
    if not session.exists or session.ended:
        return None
    if not session.awaiting:
        return PendingTurn("in-progress")
    if session.wait is not None:
        return PendingTurn("awaiting-approval", session.wait.id, session.wait.kind)
    mark = session.latest  # its approval is gone; the checkpoint still names it
    return PendingTurn("awaiting-approval") if mark is None else PendingTurn("awaiting-approval", mark.approval_id, mark.approval_kind)


async def has_work(session_id: str, checkpoints: CheckpointStore) -> bool:
    """Whether there is anything to go on with: a turn that did not end, or input that others left behind one that did."""
    if await pending_turn(session_id, checkpoints) is not None:
        return True
    store = log_store_of(checkpoints)
    return store is not None and bool((await read_session(store, session_id)).waiting or await store.inbox(session_id))


async def discard_turn(session_id: str, checkpoints: CheckpointStore, approvals: ApprovalStore | None, clock: Clock) -> bool:
    """Drops the turn that did not end; False when there is none.

    What it waited for can not be decided any more. The system prompt stays, as in every session that goes on.

    Raises:
        SessionBusyError: somebody drives the session.
        StorageError: the store can not be written.
    """
    store = log_store_of(checkpoints)
    if store is not None:
        return await _discard_in_log(store, session_id, approvals, clock)
    checkpoint = await _stored(session_id, checkpoints)
    if checkpoint is None or _turn_of(checkpoint) is None:
        return False
    earlier = [entry.checkpoint for entry in await get_checkpoint_history(checkpoints, session_id) or ()]
    await checkpoints.save(session_id, checkpoint_before(checkpoint, earlier))
    await _take(approvals, checkpoint.approval_id)
    return True


async def _discard_in_log(store: LogStore, session_id: str, approvals: ApprovalStore | None, clock: Clock) -> bool:
    if not (await read_session(store, session_id)).exists:
        return False  # claiming it would leave a trace of a session that never was
    log = await SessionLog.open(store, session_id, socket.gethostname(), clock)
    try:
        session = log.session
        if session.ended:
            return False
        await log.record(*discard_records(session, await _before_run(store, session_id, session)))
    finally:
        await log.close()
    if log_store_of(approvals) is not store and session.wait is not None:
        await _take(approvals, session.wait.id)
    return True


async def _before_run(store: LogStore, session_id: str, session: Session) -> Session | None:
    began = run_began_at((await store.read(session_id)).batches, session.run.input_id)
    return None if began is None else await read_session(store, session_id, up_to=began - 1)


async def _take(approvals: ApprovalStore | None, approval_id: str | None) -> None:
    if approvals is not None and approval_id is not None:
        await approvals.resolve(approval_id)


async def _stored(session_id: str, checkpoints: CheckpointStore) -> Checkpoint | None:
    found: Any = await checkpoints.load(session_id)
    return None if found is None else checkpoint_from(found)


def _turn_of(checkpoint: Checkpoint | None) -> PendingTurn | None:
    if checkpoint is None or checkpoint.status == "finished":
        return None
    return PendingTurn(checkpoint.status, checkpoint.approval_id, checkpoint.approval_kind)
