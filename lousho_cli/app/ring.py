"""A session being looked at: its ring with what happened between its checkpoints, kept up to date by reading only what is new."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import msgspec

from lousho_cli.app.following import Followed, followed_of
from lousho_cli.app.histories import HistoryEntry, Sizes, added_by, entries_of
from lousho_cli.app.loading import Loaded
from lousho_cli.app.results import Outcome, PendingItem, Status
from lousho_cli.app.ring_marks import Marking, RingMark, damage_of
from lousho_cli.app.sessions import not_found
from lousho_cli.app.showing import Shown, ShownMessage, message_of, shown_mark, shown_session
from lousho_cli.app.usage import StepLine, Totals, session_totals, steps_of
from lousho_cli.core.addresses import Address, find_mark, parse_address
from lousho_cli.core.cut_partials import cut_answer
from lousho_cli.core.fold import fold
from lousho_cli.core.versions import damaged_records
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Marked, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.ports.log_store import Hole
from lousho_cli.ports.sessions import Sessions


class RingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One kept checkpoint.

    calls, results, failed, said: what it added: the tools called, those that gave a result, those of them that failed,
    and the last text of user or model. tokens, cost_usd: of the model call that it is the first checkpoint of, None where it
    is of none, or nobody knows. marks: what happened since the checkpoint before it, oldest first.
    """

    entry: HistoryEntry
    run: int
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    said: str = ""
    tokens: int | None = None
    cost_usd: float | None = None
    marks: tuple[RingMark, ...] = ()


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """The ring of a session, newest first, and what stands behind its newest checkpoint.

    driven_by: who drives it now, in words; None for nobody. cut: a run is unfinished, nobody drives it, and nobody gave it back.
    writing: the answer being written, as far as it is there. running: the tools of calls that were begun and have no result.
    open_marks: what happened since the newest checkpoint. steps: what each model call of the run used. seq: how far was read.
    damage: in words, '' for a sound log. newer: what a newer version wrote, in words.
    """

    session: str
    agent: str
    status: Status
    step: int
    entries: tuple[RingEntry, ...]
    steps: tuple[StepLine, ...]
    usage: Totals
    seq: int
    limit: int
    outcome: Outcome | None = None
    error: str | None = None
    waits_for: PendingItem | None = None
    driven_by: str | None = None
    cut: bool = False
    writing: str = ""
    running: tuple[str, ...] = ()
    open_marks: tuple[RingMark, ...] = ()
    parent: str | None = None
    parent_step: int | None = None
    damage: tuple[str, ...] = ()
    newer: str = ""


def entry_at(ring: Ring, text: str) -> RingEntry | None:
    """The kept checkpoint that an address means; of a point of the log the newest one up to there. None where none is kept there.

    Raises:
        ConfigurationError: it is no address.
    """
    address = parse_address(text)
    for one in ring.entries:
        own = parse_address(one.entry.address)
        if address.seq is not None:
            if one.entry.seq <= address.seq:
                return one
        elif address.step == own.step and address.run in {None, own.run} and address.n in {None, own.n}:
            return one
    return None


class RingReader:
    """Looks at one session for as long as somebody wants to. It writes nothing. One thread at a time may use it."""

    def __init__(self, session_id: str) -> None:
        self._id = session_id
        self._forget()

    def _forget(self) -> None:
        self._session = Session()
        self._batches: list[r.Batch] = []
        self._holes: dict[int, Hole] = {}
        self._marking = Marking()
        self._marks: list[RingMark] = []
        self._mark_seqs: list[int] = []
        self._sizes = Sizes()
        self._shown: list[ShownMessage] = []
        self._shown_of: Shared[Message] = Shared()
        self._damaged: list[tuple[int, str]] = []
        self._last: Ring | None = None

    async def read(self, store: Sessions | None) -> Ring:
        """The ring as it stands now. The store is the same each time; None holds no session.

        Raises:
            NotFoundError: there is no such session, or no more.
            StorageError: it can not be read.
        """
        if store is None:
            raise not_found(self._id, ())
        owner = getattr(store, "owner", None)  # a store of plain checkpoints has none
        driven = await owner(self._id) if owner is not None else None  # asked first: what it wrote before it left is read below
        read = await store.read(self._id, self._session.seq)
        if read.head < self._session.seq:  # it was deleted, or another log stands in its place
            self._forget()
            read = await store.read(self._id, 0)
        if not read.head and not read.holes and not self._session.seq:
            raise not_found(self._id, ())
        driven_by = driven.describe() if driven is not None else None
        grown = self._take(read.batches, read.holes)
        if grown or self._last is None or self._last.driven_by != driven_by:
            self._last = self._ring(driven_by)
        return self._last

    def shown(self, address: str) -> Shown:
        """A checkpoint, or the session as it stands where the address names no point. Of what was read last; it reads nothing itself.

        Raises:
            ConfigurationError: it is no address.
            NotFoundError: no such checkpoint is kept.
        """
        point = parse_address(address)
        loaded = self._loaded()
        if not point.is_point:
            session = self._session
            behind = session.turn.results.values() if session.turn else ()
            return shown_session(loaded, Address(self._id), (*self._said(session.messages), *map(message_of, (*behind, *session.held))))
        mark = find_mark(self._id, self._session, point)
        return shown_mark(loaded, mark, (*self._said(mark.messages), *map(message_of, mark.held)))

    def before(self, address: str) -> str | None:
        """The address of the kept checkpoint in front of one; None for the oldest. In front of a session's end: the newest."""
        marks = list(self._session.marks)
        point = parse_address(address)
        if point.is_point:
            at = marks.index(find_mark(self._id, self._session, point))
        else:
            at = len(marks)
        return f"{self._id}@{marks[at - 1].address}" if at else None

    def records(self, address: str) -> tuple[Followed, ...]:
        """The records of the log behind the checkpoint before, up to and with this one; of the session's end those behind the newest."""
        point = parse_address(address)
        end = find_mark(self._id, self._session, point).seq if point.is_point else self._session.seq + 1
        earlier = bisect_left(self._mark_seqs, end)
        start = self._mark_seqs[earlier - 1] if earlier else 0
        wanted = [batch for batch in self._batches if start < batch.seq <= end]
        return tuple(followed for batch in wanted for followed in followed_of(batch))

    def _take(self, batches: tuple[r.Batch, ...], holes: tuple[Hole, ...]) -> bool:
        """Takes in what was read; whether any of it is new."""
        self._session = fold(batches, self._session if self._session.seq else None)
        self._batches.extend(batches)
        self._marks.extend(self._marking.of(batches))
        self._mark_seqs.extend(batch.seq for batch in batches if any(type(record) is r.Mark for record in batch.records))
        new = [hole for hole in holes if hole.first not in self._holes]
        self._holes.update((hole.first, hole) for hole in new)
        self._marks = sorted([*self._marks, *damage_of(new)], key=lambda mark: mark.seq) if new else self._marks
        self._damaged.extend(damaged_records(batches))
        return bool(batches or new)

    def _loaded(self) -> Loaded:
        return Loaded(self._id, self._session, tuple(self._holes.values()), tuple(self._damaged))

    def _said(self, messages: Shared[Message]) -> list[ShownMessage]:
        """Messages as they are shown; each is turned into that once where checkpoints share their list."""
        newest = self._session.messages
        if not newest.shares_with(self._shown_of):
            self._shown, self._shown_of = [], newest
        if not messages.shares_with(newest) or len(messages) > len(newest):
            return list(map(message_of, messages))
        self._shown.extend(map(message_of, newest[len(self._shown) : len(messages)]))
        return self._shown[: len(messages)]

    def _ring(self, driven_by: str | None) -> Ring:
        session = self._session
        loaded = self._loaded()
        last = shown_session(loaded, Address(self._id), ())
        newest = self._mark_seqs[-1] if self._mark_seqs else 0
        behind = self._batches[bisect_right(self._batches, newest, key=lambda batch: batch.seq) :]
        unended = session.exists and session.status == "in-progress" and session.outcome is None and bool(session.run.number)
        begun = session.turn.started if session.turn else {}
        return Ring(
            session=self._id,
            agent=last.agent,
            status=session.status,
            step=session.step,
            entries=self._entries(loaded),
            steps=steps_of(session),
            usage=session_totals(session),
            seq=session.seq,
            limit=session.ring,
            outcome=session.outcome,
            error=session.error,
            waits_for=last.waits_for,
            driven_by=driven_by,
            cut=unended and driven_by is None and not session.handed_over and session.attempts > 0,
            writing=cut_answer(behind).text if unended else "",
            running=tuple(call.name for call in session.pending if call.id in begun),
            open_marks=tuple(mark for mark in self._marks if mark.seq > newest),
            parent=last.parent,
            parent_step=last.parent_step,
            damage=loaded.damage,
            newer=loaded.newer,
        )

    def _entries(self, loaded: Loaded) -> tuple[RingEntry, ...]:
        marks = list(loaded.session.marks)
        found: list[RingEntry] = []
        told = 0
        bounds = {seq: before for before, seq in zip([0, *self._mark_seqs], self._mark_seqs, strict=False)}
        before: Marked | None = None
        for mark, entry in zip(marks, reversed(entries_of(loaded, self._sizes)), strict=True):
            since = bounds.get(mark.seq, 0)
            while told < len(self._marks) and self._marks[told].seq <= since:
                told += 1
            start = told
            while told < len(self._marks) and self._marks[told].seq <= mark.seq:
                told += 1
            found.append(_entry(entry, mark, before, tuple(self._marks[start:told])))
            before = mark
        return tuple(reversed(found))


def _entry(entry: HistoryEntry, mark: Marked, before: Marked | None, marks: tuple[RingMark, ...]) -> RingEntry:
    added = added_by(mark, before)
    results = [message for message in added if message.role == "tool"]
    texts = [message.text for message in added if message.role in {"assistant", "user"} and message.text]
    first = before is None or (before.run.number, before.step) != (mark.run.number, mark.step)
    step = mark.step_usage[-1] if first and len(mark.step_usage) and mark.step_usage[-1].step == mark.step else None
    return RingEntry(
        entry=entry,
        run=mark.run.number,
        calls=tuple(call.name for message in added for call in message.tool_calls),
        results=tuple(message.tool_name or message.tool_call_id or "" for message in results),
        failed=tuple(message.tool_name or message.tool_call_id or "" for message in results if message.is_error),
        said=texts[-1] if texts else "",
        tokens=step.total_tokens if step else None,
        cost_usd=step.cost_usd if step else None,
        marks=marks,
    )
