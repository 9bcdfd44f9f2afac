"""The two plain store contracts (``ports.checkpoints``) as views of a log store.

A view folds the log and writes records; it keeps nothing of its own. The executor finds the log
behind it (``log_store``) and drives that instead.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from lousho_cli.core.checkpoints import checkpoint_of, history_of, state_of_checkpoint
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.session_ids import approval_log
from lousho_cli.core.snapshot_timing import snapshot_due
from lousho_cli.core.snapshots import pending_of, snapshot_of, state_of_snapshot
from lousho_cli.core.states import session_from, state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, StoredApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.domain.shared import Growing, Shared
from lousho_cli.domain.times import stamp
from lousho_cli.errors import SessionBusyError
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

Records = Callable[[Session], Sequence[r.Record]]


class _View:
    def __init__(self, log_store: LogStore) -> None:
        self.log_store = log_store

    async def _session(self, log_id: str) -> Session:
        return await read_session(self.log_store, log_id)

    async def _write(self, log_id: str, records_on: Records, *, whole: bool = False) -> bool:
        """Appends what ``records_on`` makes of the session found there, as one batch under a claim; False for nothing.

        ``whole``: the batch begins with a base, so that the log may as well begin with it. It does, once what it makes
        superfluous is worth it: a log of saves stays within a few times the newest.
        """
        claim = await self.log_store.claim(log_id, socket.gethostname())
        try:
            session = await self._session(log_id)
            records = records_on(session)
            if not records:
                return False
            batch = r.Batch(session.seq + 1, claim.epoch, _now(), (r.Claimed(claim.host), *records))
            if whole and session.seq and snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size):
                await self.log_store.trim(claim, batch)
            else:
                await self.log_store.append(claim, (batch,))
            await self.log_store.save_head(claim, head_of(fold((batch,), session)))
            return True
        finally:
            await self.log_store.release(claim)


class CheckpointView(_View):
    """``save, load, delete, history`` over a log store."""

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        """Makes ``checkpoint`` the state of the session, as one mark in its ring."""
        new = checkpoint_from(checkpoint)
        mark = r.Mark(new.step_index, new.status, new.finish_reason, new.approval_id, self.log_store.history_limit)
        await self._write(session_id, lambda before: (r.Base(state_from(_with_checkpoint(before, new))), mark), whole=True)

    async def load(self, session_id: str) -> Checkpoint | None:
        """The fold at the newest mark, None before the first."""
        return checkpoint_of(session_id, await self._session(session_id))

    async def delete(self, session_id: str, *, keep_history: bool = False) -> None:
        """Ends the session; the next message under its id starts over. An unknown id is no error."""
        if not keep_history:
            await self.log_store.delete(session_id)
        elif (await self._session(session_id)).seq:
            await self._write(session_id, lambda session: (r.Cleared(),))

    async def history(self, session_id: str, limit: int | None = None) -> Sequence[CheckpointHistoryEntry]:
        """The ring, newest first."""
        return history_of(session_id, await self._session(session_id), limit)


class ApprovalView(_View):
    """``save, resolve, load, list`` over a log store.

    Deciding through this view takes the approval once; the session's own mark moves only when the
    executor is given the checkpoint store too.
    """

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        """Stores a pause, or opens one again that was taken."""
        log_id = await self._log_of(pending.id)
        if log_id is not None:
            await self._write(log_id, lambda session: (r.WaitPutBack(pending.id),))
            return
        state = state_of_snapshot(snapshot)
        mark = r.Mark(snapshot.steps, "awaiting-approval", "awaiting-approval", pending.id)
        await self._write(approval_log(pending.id), lambda session: (r.Base(state), r.WaitOpened(pending), mark))

    async def load(self, approval_id: str) -> StoredApproval | None:
        """The pause, without taking it; None when unknown or taken."""
        log_id = await self._log_of(approval_id)
        session = await self._session(log_id) if log_id else None
        if log_id is None or session is None or session.wait is None or not _waits(session, approval_id):
            return None
        named = _session_of(log_id, session.wait)
        pending = pending_of(session.wait, named)
        return StoredApproval(pending, snapshot_of(session, pending, named))

    async def resolve(self, approval_id: str) -> StoredApproval | None:
        """Takes the pause: exactly one caller gets it."""
        log_id = await self._log_of(approval_id)
        stored = await self.load(approval_id)
        if log_id is None or stored is None:
            return None
        taken = await self._write(log_id, lambda session: (r.WaitTaken(approval_id),) if _waits(session, approval_id) else ())
        if taken and log_id == approval_log(approval_id):
            await self._discard(log_id)
        return stored if taken else None

    async def _discard(self, log_id: str) -> None:
        """Removes a log that kept nothing but a pause. Taking the pause is what counts; this is tidying up."""
        try:
            await self.log_store.delete(log_id)
        except SessionBusyError:
            return  # somebody else is just finding out that it was taken

    async def list(self) -> list[PendingApproval]:
        """Everything that waits, oldest first."""
        heads = (await self.log_store.heads()).heads
        found = []
        for head in heads:
            if head.waits_for is None:
                continue
            session = await self._session(head.id)
            if session.wait is not None and not session.wait_taken:
                found.append(pending_of(session.wait, _session_of(head.id, session.wait)))
        return sorted(found, key=lambda pending: pending.created_at)

    async def _log_of(self, approval_id: str) -> str | None:
        for head in (await self.log_store.heads()).heads:
            if head.waits_for is not None and head.waits_for.id == approval_id:
                return head.id
            if approval_id in head.decided:
                return head.id
        return None


def _with_checkpoint(before: Session, new: Checkpoint) -> Session:
    """The session as ``new`` says it is; what a checkpoint does not hold stays as it was.

    That is who the session is, its inputs, the ring and its numbering, and what it waits for where it still does.
    Fewer steps than before are another run's, and so are the first and those behind a deletion that kept the ring.
    """
    waits = before.wait if before.wait is not None and before.wait.id == new.approval_id else None
    session = session_from(state_of_checkpoint(new, waits))
    number = before.run.number + (not before.exists or new.step_index < before.step)
    run = msgspec.structs.replace(session.run, number=number)
    if before.exists and number == before.run.number:
        goes_on = before.run
        run = msgspec.structs.replace(
            run,
            input_id=goes_on.input_id,
            model=goes_on.model,
            replay=goes_on.replay,
            max_steps=goes_on.max_steps,
            deadline=goes_on.deadline,
        )
    return msgspec.structs.replace(
        session,
        messages=_shared(before.messages, session.messages),
        run=run,
        agent=before.agent or session.agent,
        path=before.path,
        harness=before.harness,
        tenant=before.tenant,
        parent=before.parent,
        created_at=before.created_at or _now(),
        inputs=before.inputs,
        waiting=before.waiting,
        active=() if new.status == "finished" else before.active,
        marks=before.marks,
        last_mark=before.last_mark,
        decided=before.decided,
        wait_taken=session.wait_taken if session.wait is None else before.wait_taken,
    )


def _shared(before: Shared[Message], new: Shared[Message]) -> Shared[Message]:
    """``new``, sharing the list of ``before`` where one goes on from the other: the ring then holds their messages once."""
    if len(new) < len(before) or any(old != now for old, now in zip(before, new, strict=False)):
        return new
    growing = Growing(before)
    growing.extend(new[len(before) :])
    return growing.view()


def _now() -> str:
    return stamp(datetime.now(UTC))


def _session_of(log_id: str, wait: PendingApproval) -> str | None:
    """The session that waits: the log's own, or, for a pause kept here for another store, the one it names."""
    return (wait.session_id or None) if log_id == approval_log(wait.id) else log_id


def _waits(session: Session, approval_id: str) -> bool:
    return session.wait is not None and session.wait.id == approval_id and not session.wait_taken
