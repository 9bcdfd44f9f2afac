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


class Plan(msgspec.Struct, frozen=True, gc=False):
    """Batches to write, in order, and effects to perform once they are written."""

    batches: tuple[r.Batch, ...]
    effects: tuple[Effect, ...]


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
        if news:
            writer.take(news)
        effects = decide(writer.own.look(), agent, live)
        news, starts = _records_of(effects)
        if not news:
            break
    if starts:
        writer.add(starts)
    return Plan(writer.batches(), effects)


def _records_of(effects: Sequence[Effect]) -> tuple[list[r.Record], list[r.Record]]:
    """What is known to be true at once, and what is to be recorded before the calls that may start."""
    news: list[r.Record] = []
    starts: list[r.Record] = []
    for effect in effects:
        if type(effect) is Write:
            news += effect.records
        elif type(effect) is RunCall or type(effect) is FinishCall:
            starts += effect.first
    return news, starts


class _Groups:
    """Records on their way into batches; each is folded as it comes."""

    __slots__ = ("_calls", "_done", "_end", "_f", "_group", "_limit", "_marked", "_open", "own")

    def __init__(self, f: Accumulator, calls: tuple[str, ...], now: str, epoch: int, limit: int) -> None:
        own = f.child(calls) if calls else f
        if own is None:
            raise ValueError("this sub-agent's call has its result already")
        self.own, self._f, self._calls = own, f, calls
        self._limit = 0 if calls else limit  # a sub-agent has no ring of its own: its marks only say where it stands
        self._done: list[r.Batch] = []
        self._begin(epoch, now)

    def _begin(self, epoch: int, now: str) -> None:
        self._group: list[r.Record] = []
        self._open = r.Batch(self._f.seq + 1, epoch, now, ())  # what the records of the group are part of
        self._marked, self._end = False, self.own.messages.end

    def take(self, news: Sequence[r.Record]) -> None:
        """Adds records, and the mark they bring with them."""
        if self._marked:
            self._close()
            self._begin(self._open.epoch, self._open.at)
        self.add(with_ring(news, self._limit))
        self._marked = self._brings_mark()

    def add(self, records: Sequence[r.Record]) -> None:
        apply_part(self._f, self._open, within(self._calls, records) if self._calls else records)
        self._group += records

    def _brings_mark(self) -> bool:
        """Whether the group has its mark. A turn that asks for tools or only paused, and a growth of the results in order, bring one."""
        due = False
        for record in self._group:
            if type(record) is r.Mark:
                return True
            if type(record) is r.ToolFinished:
                due = due or self.own.messages.end > self._end
            elif type(record) is r.Turn:
                due = due or bool(record.message.tool_calls) or record.finish_reason == PAUSED
        if due:
            self.add((r.Mark(self.own.step, limit=self._limit),))
        return due

    def _close(self) -> None:
        if self._group:
            begun = self._open
            whole = within(self._calls, self._group) if self._calls else tuple(self._group)
            self._done.append(r.Batch(begun.seq, begun.epoch, begun.at, whole))

    def batches(self) -> tuple[r.Batch, ...]:
        self._close()
        return tuple(self._done)


def with_ring(records: Sequence[r.Record], limit: int) -> Sequence[r.Record]:
    """The records with the size of the ring stamped on their marks."""
    if limit == r.DEFAULT_RING:
        return records
    return [msgspec.structs.replace(record, limit=limit) if type(record) is r.Mark else record for record in records]
