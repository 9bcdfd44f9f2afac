"""What a post becomes at its owner, and what its sender is told: stored and run, stored and waiting, or refused."""

from __future__ import annotations

from lousho_cli.core.entering import occupied, repeats, runs
from lousho_cli.core.settling import operation_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.session import InputState, Session
from lousho_cli.executor.secret_answers import hand_over, opened
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.intake import Intake
from lousho_cli.host.receipts import Receipt

NOT_RUNNING = "not_running"


async def admitted(log: SessionLog, intake: Intake, post: Post) -> Receipt:
    """Stores what ``post`` is, and says what becomes of it.

    Raises:
        OwnershipLostError, StorageError: it was not stored.
    """
    session = log.session
    known = session.inputs.get(post.id)
    if known is not None:
        return known_already(session, post, known)
    if intake.carries_out(log, post):
        return Receipt(post.id, "accepted")
    ready = await opened(log, post)
    if isinstance(ready, r.InputRejected):
        await log.record(ready)
        return Receipt(post.id, "rejected", reason=ready.reason)
    post, session = ready, log.session
    records = intake.entered(session, post, log.clock.now(), log.claim.epoch)
    hand_over(log, post, records)
    behind = occupied(session)
    if records:
        await log.record(*records)
    await intake.recorded(post, records)
    return _receipt(session, post, records, behind=behind)


def known_already(session: Session, post: Post, known: InputState) -> Receipt:
    """The receipt of an input that the log has: the same once more, or a conflict."""
    if not repeats(known, post):
        return Receipt(post.id, "rejected", reason="conflict")
    if known.status == "rejected":
        return Receipt(post.id, "rejected", reason=known.error)
    if known.status != "received":
        return Receipt(post.id, "accepted", known.operation or post.id)
    return Receipt(post.id, "accepted", operation_of(session)) if known.joins else Receipt(post.id, "queued", post.id)


def refused_elsewhere(session: Session, post: Post) -> Receipt | None:
    """The refusal that needs no owner: there is nothing that could be stopped."""
    return Receipt(post.id, "rejected", reason=NOT_RUNNING) if post.kind == "abort" and not runs(session) else None


def _receipt(session: Session, post: Post, records: tuple[r.Record, ...], *, behind: bool) -> Receipt:
    for record in records:
        if isinstance(record, r.InputRejected):
            return Receipt(post.id, "rejected", reason=record.reason)
        if isinstance(record, r.InputReceived) and record.joins:
            return Receipt(post.id, "accepted", operation_of(session))
    if post.kind == "abort":
        return Receipt(post.id, "accepted", operation_of(session)) if records else Receipt(post.id, "rejected", reason=NOT_RUNNING)
    waits = any(isinstance(record, r.InputReceived) for record in records) and not any(isinstance(one, r.InputApplied) for one in records)
    return Receipt(post.id, "queued" if behind and waits else "accepted", post.id)
