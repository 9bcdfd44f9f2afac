"""advance: fold what happened, decide, and again, until something has to be performed.

The result is what to write, grouped into batches, and what to perform behind it. A batch ends
at its mark, so each checkpoint is whole; what needs no mark joins the batch it belongs to: an
answer and the end it brings, a turn and the start of its first calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.decide import AgentFacts, Effect, Live, RunCall, Write, decide
from lousho_cli.core.fold import apply
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session


class Plan(msgspec.Struct, frozen=True):
    """Batches to write, in order, and effects to perform once they are written.

    ``session`` is what they add up to, None where the start of calls came on top of it.
    """

    batches: tuple[r.Batch, ...]
    effects: tuple[Effect, ...]
    session: Session | None = None


def advance(f: Accumulator, happened: Sequence[r.Record], agent: AgentFacts, live: Live, epoch: int, limit: int) -> Plan:
    """Adds ``happened`` and all that follows from it to ``f``.

    Args:
        f: the session so far; changed in place.
        happened: records of one batch; may be empty.
        epoch: that of the claim the batches will be written under.
        limit: size of the ring, stamped on each mark.
    """
    writer = _Groups(f, live.now, epoch, limit)
    news: Sequence[r.Record] = happened
    while True:
        writer.take(news)
        session = f.freeze()
        effects = decide(session, agent, live)
        news = [record for effect in effects if isinstance(effect, Write) for record in effect.records]
        if not news:
            break
    starts = [r.ToolStarted(effect.call.id) for effect in effects if isinstance(effect, RunCall)]
    writer.add(starts)
    return Plan(writer.batches(), effects, None if starts else session)


class _Groups:
    """Records on their way into batches; each is folded as it comes."""

    def __init__(self, f: Accumulator, now: str, epoch: int, limit: int) -> None:
        self._f, self._now, self._epoch, self._limit = f, now, epoch, limit
        self._done: list[r.Batch] = []
        self._group: list[r.Record] = []
        self._marked = False
        self._length = len(f.messages)

    def take(self, news: Sequence[r.Record]) -> None:
        """Adds records, and the mark they bring with them."""
        if not news:
            return
        if self._marked:
            self._close()
        self.add(with_ring(news, self._limit))
        self._marked = any(type(record) is r.Mark for record in self._group)
        if not self._marked and self._is_checkpoint():
            self.add([r.Mark(self._f.step, limit=self._limit)])
            self._marked = True

    def add(self, records: Sequence[r.Record]) -> None:
        if records:
            seq = self._f.seq if self._group else self._f.seq + 1
            apply(self._f, r.Batch(seq, self._epoch, self._now, tuple(records)))
            self._group += records

    def _is_checkpoint(self) -> bool:
        """A turn that asks for tools, and a growth of the results that stand in order, are checkpoints."""
        for record in self._group:
            if type(record) is r.Turn and record.message.tool_calls:
                return True
            if type(record) is r.ToolFinished and len(self._f.messages) > self._length:
                return True
        return False

    def _close(self) -> None:
        if self._group:
            self._done.append(r.Batch(self._f.seq, self._epoch, self._now, tuple(self._group)))
        self._group, self._marked, self._length = [], False, len(self._f.messages)

    def batches(self) -> tuple[r.Batch, ...]:
        self._close()
        return tuple(self._done)


def with_ring(records: Sequence[r.Record], limit: int) -> Sequence[r.Record]:
    """The records with the size of the ring stamped on their marks."""
    if limit == r.DEFAULT_RING:
        return records
    return [msgspec.structs.replace(record, limit=limit) if type(record) is r.Mark else record for record in records]
