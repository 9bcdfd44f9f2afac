"""Tells the events of a run while its log is written: each batch once it was, by whomever in this process."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.core.telling import Teller
from lousho_cli.domain import records as r
from lousho_cli.domain.events import Event, TextDelta
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
        for event in events:
            if not isinstance(event, TextDelta):  # it was told as it came from the model
                self._events.forward(event)
