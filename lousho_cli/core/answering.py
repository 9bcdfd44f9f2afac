"""A person's decision as records: checked against what waits, bound to its digest, expired when too late."""

from __future__ import annotations

from datetime import datetime

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval, digest_of
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import MASKED_ANSWER


def answer_records(session: Session, decision: ApprovalDecision, now: str, *, taken: bool = False) -> tuple[r.Record, ...]:
    """What to record for a decision; nothing when the session does not wait for it (any more).

    Args:
        taken: the caller took the approval from its store, and so may decide one that was given away.

    The checkpoint that goes with it holds the decision, so that it is there while the call runs.
    """
    wait = session.wait
    if wait is None or not waits_for(session, decision.id, taken=taken):
        return ()
    if decision.digest is not None and decision.digest != wait.digest:
        return ()
    edited = decision.args is not None
    # Whoever decides, and however: a secret that was typed is kept nowhere.
    hides = wait.kind == "secret" and decision.approved and decision.note is not None
    answered = r.WaitAnswered(
        id=decision.id,
        approved=decision.approved,
        note=MASKED_ANSWER if hides else decision.note,
        args=decision.args,
        digest=digest_of(decision.args) if edited else None,
        by=decision.by,
        expired=expired(wait, now),
        at=now,
    )
    return (answered, r.Mark(session.step))


_UNDECIDED = ApprovalDecision("", approved=False)


def decision_of(wait: PendingApproval, record: r.WaitAnswered, earlier: ApprovalDecision | None) -> ApprovalDecision:
    """What was decided on the call that waited.

    Args:
        earlier: what was decided on the same call before; the answer that a call asked for in the middle keeps its edit.
    """
    edited, note = record.args, record.note
    answers: tuple[str, ...] = ()
    if wait.kind != "tool" and record.approved:
        # What is said then is for the tool; what the model is told of the call is what was said when it was approved.
        before = earlier or _UNDECIDED
        edited, note, answers = before.args, before.note, (*before.answers, record.note or "")
    return ApprovalDecision(
        id=record.id,
        approved=record.approved and not record.expired,
        note=note,
        args=edited,
        digest=record.digest or wait.digest,
        by=record.by,
        expired=record.expired,
        kind=wait.kind,
        pinned=wait.args if wait.hooked else None,
        answers=answers,
    )


def waits_for(session: Session, approval_id: str, *, taken: bool = False) -> bool:
    """Whether the session waits for exactly this decision, and it was not given to somebody else already."""
    wait = session.wait
    return wait is not None and wait.id == approval_id and (taken or not session.wait_taken)


def expired(wait: PendingApproval, now: str) -> bool:
    """Whether it is too late to decide. A date nobody can read never comes."""
    if wait.expires_at is None:
        return False
    try:
        return datetime.fromisoformat(now) > datetime.fromisoformat(wait.expires_at)
    except (ValueError, TypeError):
        return False
