"""A trim: the log of a session becomes one batch that holds its whole state.

Nothing that a fold gives is lost by it: the transcript, the ring with its numbers, every input and
decision ever, what waits. What goes is how it came to be: earlier batches, notes, and records of others.
"""

from __future__ import annotations

import msgspec

from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Marked, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.domain.state import State
from lousho_cli.errors import StorageError


def trimmed_state(session: Session, keep_marks_since: str | None = None) -> State:
    """The state that a trimmed log of a session begins with.

    Args:
        keep_marks_since: drop the checkpoints made before this UTC time from the ring, but never the newest; None keeps all.
    """
    if keep_marks_since is not None:
        session = msgspec.structs.replace(session, marks=Shared(_kept(session, keep_marks_since)))
    return state_from(session)


def old_marks(session: Session, before: str) -> int:
    """How many checkpoints ``trimmed_state`` would drop from the ring of a session."""
    return len(session.marks) - len(_kept(session, before))


def _kept(session: Session, since: str) -> list[Marked]:
    return [mark for index, mark in enumerate(session.marks, 1) if mark.at >= since or index == len(session.marks)]


def base_batch(state: State, epoch: int, host: str | None) -> r.Batch:
    """The one batch of a trimmed log: it stands where the log ended, as nothing new happened.

    Args:
        host: who trims, where nothing was written under ``epoch`` before; None else.
    """
    claimed = () if host is None else (r.Claimed(host),)
    return r.Batch(state.seq, epoch, state.updated_at, (*claimed, r.Base(state)))


def has_base(batch: r.Batch) -> bool:
    """Whether a log may begin with this batch past seq 1."""
    return any(isinstance(record, r.Base) for record in batch.records)


def require_base(log_id: str, base: r.Batch, head: int, epoch: int) -> None:
    """Lets only a batch pass that a log may be trimmed to.

    Args:
        head, epoch: the log's last seq, and the epoch of the claim.

    Raises:
        StorageError: it is none.
    """
    if not head:
        raise StorageError(f"session {log_id} has no log to trim")
    if not has_base(base) or base.epoch != epoch or base.seq not in (head, head + 1):
        raise StorageError(
            f"batch {base.seq} of epoch {base.epoch} is no base for the log of session {log_id}, which is at {head} in epoch {epoch}"
        )
