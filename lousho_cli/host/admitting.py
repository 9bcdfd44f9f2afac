"""What a post becomes at its owner, and what its sender is told: stored and run, stored and waiting, or refused."""

from __future__ import annotations

from lousho_cli.core.admit import same_input
from lousho_cli.core.entering import entered, input_body, occupied
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.session import InputState, Session
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.receipts import Receipt


async def admitted(log: SessionLog, post: Post) -> Receipt:
    """Stores what ``post`` is, and says what becomes of it.

    Raises:
        OwnershipLostError, StorageError: it was not stored.
    """
    session = log.session
    known = session.inputs.get(post.id)
    if known is not None:
        return known_already(session, post, known)
    records = entered(session, post, log.clock.now())
    behind = occupied(session)
    if records:
        await log.record(*records)
    for record in records:
        if isinstance(record, r.InputRejected):
            return Receipt(post.id, "rejected", reason=record.reason)
        if isinstance(record, r.InputReceived) and record.joins:
            return Receipt(post.id, "accepted", session.run.input_id)
    return Receipt(post.id, "queued" if behind and post.kind == "input" else "accepted", post.id)


def known_already(session: Session, post: Post, known: InputState) -> Receipt:
    """The receipt of an input that the log has: the same once more, or a conflict."""
    if known.status == "rejected":
        return Receipt(post.id, "rejected", reason=known.error)
    if post.kind != "input" or not same_input(known, input_body(post).messages, post.by):
        return Receipt(post.id, "rejected", reason="conflict")
    return Receipt(post.id, "queued" if known.status == "received" else "accepted", post.id)
