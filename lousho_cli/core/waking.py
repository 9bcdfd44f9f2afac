"""What becomes of a session that was to be taken up at a time, once that has come."""

from __future__ import annotations

from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session


def woken(session: Session, now: str) -> tuple[r.Record, ...]:
    """The wake is spent, and what it brings is an input like any other; none where it is not due.

    It is spent together with its input, so that it comes once whoever dies.
    """
    wake = session.wake
    if wake is None or wake.at > now:
        return ()
    spent = r.WakeSet(None)
    return (spent, r.InputReceived(wake.id, wake.messages, wake.by)) if wake.messages else (spent,)
