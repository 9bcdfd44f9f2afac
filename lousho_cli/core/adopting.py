"""Sessions that another store kept, as logs of ours: one batch a checkpoint, with the ring they had.

The other store tells what it holds piece by piece (``Found``); ``gather`` reads the pieces and puts those of one
session together, and names what it could not read. ``batches_of`` makes the log. Times stay those of the other store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from lousho_cli.core.checkpoints import checkpoint_at, checkpoint_of, state_of_checkpoint
from lousho_cli.core.fold import fold
from lousho_cli.core.originals import approval_from
from lousho_cli.core.snapshots import state_of_snapshot
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.tool_errors import not_run
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval, StoredApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.domain.messages import Message
from lousho_cli.domain.originals import entry_from_original
from lousho_cli.domain.session import IMPORTING, Marked, Session
from lousho_cli.domain.shared import Growing, Shared
from lousho_cli.errors import SDKError

T = TypeVar("T")


class Found(msgspec.Struct, frozen=True):
    """One piece of what another store holds.

    kind: ``ring`` is a list of history entries, oldest first; ``transcripts`` is how many of those there are, which
    are no checkpoints: what they were asked with is not in them. id: what it was kept under, of the session or the approval.
    value: plain JSON data. where: the file or row, for people. at: when it was saved. broken: why its value could not be read.
    """

    kind: Literal["checkpoint", "ring", "approval", "transcripts"]
    id: str
    value: Any
    where: str
    at: str = ""
    broken: str = ""


class Adopted(msgspec.Struct, frozen=True):
    """A session as its checkpoints tell it, oldest first.

    approval: what the newest one waits for, where it was still there. cleared: only the history was kept.
    ring: a history was kept of it; else its one entry is its checkpoint.
    """

    id: str
    where: str
    entries: tuple[CheckpointHistoryEntry, ...]
    approval: StoredApproval | None = None
    cleared: bool = False
    ring: bool = False


class Gathered(msgspec.Struct, frozen=True):
    """Sessions by id, what could not be read as (where, why), and what was left where it is, in words."""

    sessions: tuple[Adopted, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()


def gather(found: Iterable[Found]) -> Gathered:
    """Reads the pieces of a store and puts them together by session; what can not be read is named, the rest is there."""
    pieces = _Pieces()
    for piece in found:
        pieces.take(piece)
    return pieces.together()


class _Pieces:
    """What was read so far."""

    def __init__(self) -> None:
        self.kept: set[str] = set()
        self.newest: dict[str, tuple[Checkpoint, Found]] = {}
        self.rings: dict[str, tuple[list[CheckpointHistoryEntry], Found]] = {}
        self.approvals: list[tuple[StoredApproval, Found]] = []
        self.unreadable: list[tuple[str, str]] = []
        self.left: list[str] = []

    def take(self, piece: Found) -> None:
        if piece.kind == "transcripts":
            self.left.append(f"{piece.where}: transcripts that are no checkpoints are not taken over: {piece.value}")
            return
        if piece.kind == "checkpoint":
            self.kept.add(piece.id)
        if piece.broken or (piece.kind == "ring" and not isinstance(piece.value, list)):
            self.unreadable.append((piece.where, piece.broken or "a ring of history entries is a list"))
        elif piece.kind == "checkpoint":
            checkpoint = self._read(piece, checkpoint_from, _named(piece.value, piece.id))
            if checkpoint is not None:
                self.newest[piece.id] = (checkpoint, piece)
        elif piece.kind == "approval":
            approval = self._read(piece, approval_from, piece.value)
            if approval is not None:
                self.approvals.append((approval, piece))
        else:
            read = [self._read(piece, lambda one: entry_from_original(one, piece.id), one) for one in piece.value]
            self.rings[piece.id] = ([entry for entry in read if entry is not None], piece)

    def _read(self, piece: Found, read: Callable[[Any], T], value: Any) -> T | None:
        try:
            return read(value)
        except SDKError as error:
            self.unreadable.append((piece.where, error.detail))
            return None

    def together(self) -> Gathered:
        sessions = {}
        for session_id in sorted(self.newest.keys() | self.rings.keys()):
            adopted = self._session(session_id)
            if adopted.entries:
                sessions[session_id] = adopted
        for approval, piece in self.approvals:
            self._place(sessions, approval, piece)
        return Gathered(tuple(sessions[key] for key in sorted(sessions)), tuple(self.unreadable), tuple(self.left))

    def _session(self, session_id: str) -> Adopted:
        entries, ring = self.rings.get(session_id, ([], None))
        newest, piece = self.newest.get(session_id, (None, ring))
        assert piece is not None, "it is in one of the two"
        kept = bool(entries)
        if newest is not None and (not entries or entries[-1].checkpoint != newest):
            entries = [*entries, CheckpointHistoryEntry(newest.step_index, piece.at, newest.status, newest)]
        # One whose checkpoint can not be read goes on from the newest entry of its ring, which is the same save.
        return Adopted(session_id, piece.where, tuple(entries), cleared=session_id not in self.kept, ring=kept)

    def _place(self, sessions: dict[str, Adopted], approval: StoredApproval, piece: Found) -> None:
        """Gives an approval to the session that waits for it; one of a run that kept no checkpoint is a session by itself."""
        pending = approval.pending
        session_id = approval.snapshot.session_id or pending.id
        known = sessions.get(session_id)
        if known is None or known.cleared:
            entries = (*known.entries, _entry_of(session_id, approval)) if known else (_entry_of(session_id, approval),)
            sessions[session_id] = Adopted(session_id, piece.where, entries, approval, ring=known is not None)
            return
        newest = known.entries[-1].checkpoint
        if newest.status != "awaiting-approval" or newest.approval_id != pending.id:
            self.left.append(f"{piece.where}: session {session_id} no longer waits for approval {pending.id}")
            return
        last = msgspec.structs.replace(known.entries[-1], checkpoint=_with_sub_agents(newest, approval))
        sessions[session_id] = msgspec.structs.replace(known, entries=(*known.entries[:-1], last), approval=approval)


def _named(value: Any, session_id: str) -> Any:
    """A record that does not say whose it is was kept under that name."""
    return {"sessionId": session_id, **value} if isinstance(value, dict) and "session_id" not in value else value


def _entry_of(session_id: str, approval: StoredApproval) -> CheckpointHistoryEntry:
    """The checkpoint of a run of which nothing but its pause was kept."""
    pending, snapshot = approval.pending, approval.snapshot
    mark = r.Mark(snapshot.steps, "awaiting-approval", "awaiting-approval", pending.id, 1)
    paused = fold((r.Batch(1, 1, pending.created_at, (r.Base(state_of_snapshot(snapshot)), mark)),))
    checkpoint = checkpoint_of(session_id, paused)
    assert checkpoint is not None, "a mark was just folded"
    return CheckpointHistoryEntry(snapshot.steps, pending.created_at, "awaiting-approval", checkpoint)


def _with_sub_agents(checkpoint: Checkpoint, approval: StoredApproval) -> Checkpoint:
    """The checkpoint of a lead whose sub-agent waits: a placeholder stood as the result of the call that started it."""
    calls = approval.pending.calls
    if not calls:
        return checkpoint
    kept = tuple(message for message in checkpoint.messages if message.role != "tool" or message.tool_call_id != calls[0])
    return msgspec.structs.replace(checkpoint, messages=kept, children=approval.snapshot.children)


def batches_of(adopted: Adopted, before: Session, epoch: int, host: str | None, limit: int, known: int = 0) -> tuple[r.Batch, ...]:
    """The batches that a session's log gets behind ``before``.

    Args:
        host: who claimed the log, where this is the first it writes; None for not.
        limit: how many checkpoints the ring keeps, 0 for none. Older ones than those are not written.
        known: so many of the entries are in the log already.
    """
    entries = adopted.entries[max(known, len(adopted.entries) - max(limit, 1)) :]
    claimed: tuple[r.Record, ...] = (r.Claimed(host),) if host is not None else ()
    batches = []
    for entry in entries:
        last = entry is adopted.entries[-1]
        records = _records_of(entry, before, adopted.approval if last else None, limit)
        if not last:  # each begins with a whole state, so the next one takes this away
            records = (*records, r.SettingChanged(IMPORTING, True))
        if last and adopted.cleared:
            records = (*records, r.Cleared())
        batch = r.Batch(before.seq + 1, epoch, entry.saved_at, (*claimed, *records))
        before, claimed = fold((batch,), before), ()
        batches.append(batch)
    return tuple(batches)


def _records_of(entry: CheckpointHistoryEntry, before: Session, approval: StoredApproval | None, limit: int) -> tuple[r.Record, ...]:
    checkpoint = entry.checkpoint
    session = _restored(before, checkpoint, entry.saved_at, approval)
    mark = r.Mark(checkpoint.step_index, checkpoint.status, checkpoint.finish_reason, checkpoint.approval_id, limit)
    behind: Sequence[r.Record] = ()
    if approval is not None and approval.snapshot.remaining_tool_calls is None:
        # A pause from before the calls behind it were kept: those do not run, and say so.
        held_up = approval.pending.holds_up
        behind = [r.ToolFinished(call.id, not_run(call), is_error=True) for call in session.pending if call.id != held_up]
    return (r.Base(state_from(session)), mark, *behind)


def _restored(before: Session, checkpoint: Checkpoint, at: str, approval: StoredApproval | None) -> Session:
    """The session at one of its checkpoints, behind ``before``: its ring, and its transcript as one with what it grew from."""
    wait: PendingApproval | None = approval.pending if approval is not None else None
    session = session_from(state_of_checkpoint(checkpoint, wait))
    another = checkpoint.step_index < before.step or (before.ended and len(checkpoint.messages) > len(before.messages))
    run = msgspec.structs.replace(session.run, number=max(before.run.number, 1) + (before.exists and another))
    return msgspec.structs.replace(
        session,
        agent=approval.snapshot.agent.name if approval is not None else session.agent or before.agent,
        run=run,
        messages=_grown(before.messages, session.messages),
        created_at=before.created_at or at,
        marks=before.marks,
        last_mark=before.last_mark,
        decided=before.decided,
    )


def _grown(before: Shared[Message], now: Shared[Message]) -> Shared[Message]:
    """``now``, sharing its beginning with ``before`` where it is the same, so that a mark is a length and no copy."""
    if len(now) < len(before) or now.head(len(before)) != before:
        return now
    grown = Growing(before)
    grown.extend(now[len(before) :])
    return grown.view()


class Standing(msgspec.Struct, frozen=True):
    """How much of a session is in a log already: so many of its entries. ``touched``: the log went on since."""

    entries: int
    touched: bool = False


def standing_of(adopted: Adopted, here: Session) -> Standing | None:
    """How much of ``adopted`` the log that folds to ``here`` holds; None where that is another session."""
    if here.seq == 0:
        return Standing(0)
    theirs = list(fold(batches_of(adopted, Session(), 1, None, len(adopted.entries))).marks)
    ours = list(here.marks) or ([here.latest] if here.latest else [])
    known, last = 0, 0
    for mark in ours:
        same = [n for n, one in enumerate(theirs, 1) if _same(one, mark)]
        known, last = (same[-1], mark.seq) if same else (known, last)
    if not known:
        return None
    as_left = here.exists or (adopted.cleared and known == len(adopted.entries))
    return Standing(known, touched=here.seq != last or ours[-1].seq != last or not as_left)


def _same(one: Marked, other: Marked) -> bool:
    """Whether two marks hold the same checkpoint. Not when it was saved: the copy of a file has another time."""
    alike = one.step == other.step and len(one.messages) == len(other.messages)
    return alike and checkpoint_at("", one) == checkpoint_at("", other)
