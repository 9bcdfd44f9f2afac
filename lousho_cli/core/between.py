"""Between two turns: which input begins next, and what is due before one does.

Late steers come first, then what waits in order. A reset waits for no turn of its own: it is done between two.
"""

from __future__ import annotations

from lousho_cli.core.fold_inputs import resets
from lousho_cli.domain import records as r
from lousho_cli.domain.resets import seen_from
from lousho_cli.domain.session import Session

NOTHING_TO_CONTINUE = "nothing_to_continue"


def next_in_line(session: Session) -> str | None:
    """The input that begins next: in a session where nothing ever ran, too."""
    if not session.waiting or not _between(session):
        return None
    own = [i for i in session.waiting if not resets(session.inputs[i])]
    return next((i for i in own if session.inputs[i].joins), own[0] if own else None)


def due_between(session: Session) -> tuple[r.Record, ...]:
    """What is recorded before the next input begins: resets, and the refusal of one that only goes on and finds nothing to go on with."""
    if not session.waiting or not _between(session):
        return ()
    applied = resets_due(session)
    if applied:
        return applied
    following = next_in_line(session)
    if following is not None and not session.inputs[following].messages and not can_continue(session):
        return (r.InputRejected(following, NOTHING_TO_CONTINUE),)
    return ()


def resets_due(session: Session) -> tuple[r.InputApplied, ...]:
    """The resets that wait."""
    return tuple(r.InputApplied(i) for i in session.waiting if resets(session.inputs[i]))


def can_continue(session: Session) -> bool:
    """Whether what the model sees ends in something that it has not answered."""
    last = session.messages[-1] if session.messages and session.turn is None else None
    return last is not None and last.role in ("user", "tool") and seen_from((last,)) == 0


def _between(session: Session) -> bool:
    return not session.awaiting and not (session.exists and session.outcome is None)
