"""Records to events: what is told of a log, the same while it is written and whenever it is read.

Batches go in, in order, events come out. A session is folded along, record by record, so that each event knows
what its record meant where it stood; a record that changed nothing tells nothing.

What is durable is in no record: who writes or reads the log knows it, and says so. An answer that is known to be
durable when it is told is told with ``step.saved``; of any other that follows later, by ``Teller.saved``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply
from lousho_cli.core.record_events import Watched, before, ended, events_of, name_of
from lousho_cli.domain import events as e
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session

Calls = tuple[str, ...]
"""Leads to a sub-agent: the ids of the calls that started each enclosing one; () is the lead."""


class Teller:
    """Tells one log, from where ``session`` stands. Its events are not numbered: ``seq`` is given by who hands them on."""

    def __init__(self, session_id: str, session: Session | None = None) -> None:
        self._id = session_id
        self._fold = Accumulator(session)
        self._watched: dict[Calls, Watched] = {}
        self._unsaved: list[tuple[int, e.Event]] = []
        self._cursor, self._index, self._at = self._fold.seq, -1, ""

    @property
    def session(self) -> Session:
        """The session as far as it was told."""
        return self._fold.freeze()

    @property
    def seq(self) -> int:
        """The last batch that was told."""
        return self._fold.seq

    def of(self, batch: r.Batch, durable: int) -> list[e.Event]:
        """The events of the next batch. ``durable``: all up to this seq is known to be."""
        told = self.saved(durable)
        self._cursor, self._index, self._at = batch.seq, -1, batch.at
        for calls, group in groupby(_flat(batch.records), key=itemgetter(0)):
            for event in map(self._placed, self._part(calls, [record for _, record in group], batch)):
                if isinstance(event, e.StepSaved) and batch.seq > durable:
                    self._unsaved.append((batch.seq, event))  # its place stays free: it is the same for all who read this log
                else:
                    told.append(event)
        return told

    def saved(self, durable: int) -> list[e.Event]:
        """Tells of the answers that were not known to be durable and are now."""
        if not self._unsaved:
            return []
        known = [event for seq, event in self._unsaved if seq <= durable]
        del self._unsaved[: len(known)]
        return [self._placed(event) for event in known]

    def _placed(self, event: e.Event) -> e.Event:
        self._index += 1
        return msgspec.structs.replace(event, session=self._id, cursor=self._cursor, index=self._index, timestamp=self._at)

    def _part(self, calls: Calls, records: Sequence[Any], batch: r.Batch) -> list[e.Event]:
        """What records of one agent tell: a run's start before everything else, its end behind it."""
        watched = self._watched.setdefault(calls, Watched())
        told: list[e.Event] = []
        for record in records:
            was = before(self._agent(calls), record)
            whole = r.Within(calls, (record,)) if calls else record
            apply(self._fold, r.Batch(batch.seq, batch.epoch, batch.at, (whole,)))
            f = self._agent(calls)
            if f is not None:
                told += events_of(f, watched, record, was, batch, lead=not calls)
        f = self._agent(calls)
        if f is None:
            return []
        kinds = set(map(type, records))
        if kinds & _BEGIN or (kinds & _WORK and not watched.going):
            watched.going = True
            told.insert(0, e.RunStart(run=f.run.number, attempt=f.attempts))
        if kinds & _END:
            watched.going = False
            told += ended(f, settled=r.InputSettled in kinds)
        path = self._path(calls)
        return [msgspec.structs.replace(event, path=path) for event in told] if path else told

    def _agent(self, calls: Calls) -> Accumulator | None:
        f: Accumulator | None = self._fold
        for call_id in calls:
            f = f.children.get(call_id) if f is not None else None
        return f

    def _path(self, calls: Calls) -> tuple[str, ...]:
        names, f = [], self._fold
        for call_id in calls:
            names.append(name_of(f, call_id))
            f = f.children[call_id]
        return tuple(names)


_BEGIN = {r.RunStarted, r.RunResumed}
_END = {r.InputSettled, r.WaitOpened}
_WORK = {r.Turn, r.Partial, r.ModelRetry, r.ToolStarted, r.ToolAsked, r.ToolFinished, r.PermissionDecided, *_END}
"""Records that only a run brings: one goes on, whether or not its beginning was told."""


def _flat(records: Sequence[Any]) -> Iterator[tuple[Calls, Any]]:
    """Each record with the agent it is of."""
    for record in records:
        if isinstance(record, r.Within):
            yield from ((record.calls, inner) for inner in record.records)
        else:
            yield (), record
