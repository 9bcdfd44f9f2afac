"""Tells the events of a run while its log is written: each batch once it was, by whomever in this process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from lousho_cli.core.telling import Teller
from lousho_cli.domain import records as r
from lousho_cli.domain.events import Event, StepDone, TextDelta
from lousho_cli.executor.events import Events
from lousho_cli.executor.session_log import SessionLog


def tell(log: SessionLog, events: Events) -> None:
    """From here on, whoever listens is told what is written to ``log``."""
    if events.wanted:
        log.on_written = _Telling(log, events).written


class _Telling:
    def __init__(self, log: SessionLog, events: Events) -> None:
        self._teller, self._events = Teller(log.id, log.session), events

    def written(self, batches: Sequence[r.Batch], *, durable: bool) -> None:
        """``batches`` were written; ``durable``: they, and all before them, are so for certain."""
        upto = batches[-1].seq if batches else self._teller.seq
        for batch in batches:
            self._forward(self._teller.of(batch, upto if durable else 0))
        if durable:
            self._forward(self._teller.saved(upto))

    def _forward(self, events: Sequence[Event]) -> None:
        for event, following in zip_longest(events, events[1:]):
            if not isinstance(event, TextDelta) or self._is_new(event, following):
                self._events.forward(event)

    def _is_new(self, event: TextDelta, following: Event | None) -> bool:
        """Whether it is all of an answer of which nothing was told as it came: its model gave no pieces, or a guardrail saw it first."""
        return isinstance(following, StepDone) and following.text == event.text and not self._events.heard(event.path)
