"""advance: fold what happened, decide, and again, until something has to be performed.

The result is what to write, grouped into batches, and what to perform behind it. A batch ends
at its mark, so each checkpoint is whole; what needs no mark joins the batch it belongs to: an
answer and the end it brings, a turn and the start of its first calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.decide import PAUSED, AgentFacts, Effect, FinishCall, Live, RunCall, Write, decide
from lousho_cli.core.fold import apply_part
from lousho_cli.core.sub_agents import within
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session


class Plan(msgspec.Struct, frozen=True):
    """Batches to write, in order, and effects to perform once they are written.

    ``session`` is what they add up to, None where the start of calls came on top of it.
    """

    batches: tuple[r.Batch, ...]
    effects: tuple[Effect, ...]
    session: Session | None = None


def advance(
    f: Accumulator, happened: Sequence[r.Record], agent: AgentFacts, live: Live, epoch: int, limit: int, calls: tuple[str, ...] = ()
) -> Plan:
    """Adds ``happened`` and all that follows from it to ``f``.

    Args:
        f: the session so far; changed in place.
        happened: records of one batch; may be empty.
        epoch: that of the claim the batches will be written under.
        limit: size of the ring, stamped on each mark.
        calls: leads to the sub-agent it happened to; () is the lead itself. ``agent`` and ``live`` are that one's.
    """
    writer = _Groups(f, calls, live.now, epoch, limit)
    news: Sequence[r.Record] = happened
    while True:
        writer.take(news)
        session = writer.own.freeze()
        effects = decide(session, agent, live)
        news, starts = _records_of(effects)
        if not news:
            break
    if starts:
        writer.add(starts)
    return Plan(writer.batches(), effects, None if starts else session)


def _records_of(effects: Sequence[Effect]) -> tuple[list[r.Record], list[r.Record]]:
    """What is known to be true at once, and what is to be recorded before the calls that may start."""
    news: list[r.Record] = []
    starts: list[r.Record] = []
    for effect in effects:
        if isinstance(effect, Write):
            news += effect.records
        elif isinstance(effect, (RunCall, FinishCall)):
            starts += effect.first
    return news, starts


class _Groups:
    """Records on their way into batches; each is folded as it comes."""

    def __init__(self, f: Accumulator, calls: tuple[str, ...], now: str, epoch: int, limit: int) -> None:
        own = f.child(calls) if calls else f
        if own is None:
            raise ValueError("this sub-agent's call has its result already")
        self.own = own
        # A sub-agent has no ring of its own: its marks only say where it stands.
        self._f, self._calls, self._now, self._epoch, self._limit = f, calls, now, epoch, 0 if calls else limit
        self._done: list[r.Batch] = []
        self._group: list[r.Record] = []
        self._open = r.Batch(0, epoch, now, ())  # what the records of the group are part of
        self._marked = False
        self._length = len(own.messages)

    def take(self, news: Sequence[r.Record]) -> None:
        """Adds records, and the mark they bring with them."""
        if not news:
            return
        if self._marked:
            self._close()
            self._group, self._marked, self._length = [], False, len(self.own.messages)
        self.add(with_ring(news, self._limit))
        self._marked = r.Mark in map(type, self._group)
        if not self._marked and self._is_checkpoint():
            self.add([r.Mark(self.own.step, limit=self._limit)])
            self._marked = True

    def add(self, records: Sequence[r.Record]) -> None:
        if not self._group:
            self._open = r.Batch(self._f.seq + 1, self._epoch, self._now, ())
        apply_part(self._f, self._open, within(self._calls, records) if self._calls else records)
        self._group += records

    def _is_checkpoint(self) -> bool:
        """A turn that asks for tools or only paused, and a growth of the results that stand in order, are checkpoints."""
        for record in self._group:
            if type(record) is r.Turn and (record.message.tool_calls or record.finish_reason == PAUSED):
                return True
            if type(record) is r.ToolFinished and len(self.own.messages) > self._length:
                return True
        return False

    def _close(self) -> None:
        if self._group:
            whole = within(self._calls, self._group) if self._calls else tuple(self._group)
            self._done.append(r.Batch(self._f.seq, self._epoch, self._now, whole))

    def batches(self) -> tuple[r.Batch, ...]:
        self._close()
        return tuple(self._done)


def with_ring(records: Sequence[r.Record], limit: int) -> Sequence[r.Record]:
    """The records with the size of the ring stamped on their marks."""
    if limit == r.DEFAULT_RING:
        return records
    return [msgspec.structs.replace(record, limit=limit) if type(record) is r.Mark else record for record in records]
