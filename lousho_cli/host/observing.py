"""What a host tells its own process while it drives: the events of every turn, and how each came to rest."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from lousho_cli.domain.session import Session
from lousho_cli.executor.events import Listener

log_to = logging.getLogger("lousho")


class TurnEnd(msgspec.Struct, frozen=True):
    """A turn that this host drove and that rests now.

    session: the thread as it stands. failure: why the turn failed or could not begin, None where it did not;
    the failure of one that a model or a limit ended stands in the session too.
    """

    thread_id: str
    session: Session
    failure: Exception | None = None


class Observer(msgspec.Struct, frozen=True):
    """Who looks on in this process. What it raises is logged and changes nothing.

    on_event: gets each event of each turn; its ``session`` is the thread. on_turn_end: gets each end.
    """

    on_event: Listener | None = None
    on_turn_end: Callable[[TurnEnd], None] | None = None

    @property
    def hears_of_ends(self) -> bool:
        return self.on_turn_end is not None

    def turn_ended(self, end: TurnEnd) -> None:
        """Tells of an end."""
        if self.on_turn_end is None:
            return
        try:
            self.on_turn_end(end)
        except Exception:
            log_to.exception("%s: who looks on at the ends of turns failed", end.thread_id)


NOBODY = Observer()
"""Who looks on where nobody does."""
