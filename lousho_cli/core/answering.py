"""A person's decision as records: checked against what waits, bound to its digest, expired when too late."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval, Question, digest_of
from lousho_cli.domain.secret_references import reference_in
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import MASKED_ANSWER


def answer_records(session: Session, decision: ApprovalDecision, now: str, *, taken: bool = False) -> tuple[r.Record, ...]:
    """What to record for a decision; nothing when the session does not wait for it (any more).

    Args:
        taken: the caller took the approval from its store, and so may decide one that was given away.

    The checkpoint that goes with it holds the decision, so that it is there while the call runs. What running code
    asked needs none: nothing stopped for it.
    """
    ask = session.asks.get(decision.id)
    if ask is not None:
        return (_answer_to(ask.approval, decision, now),) if ask.answer is None else ()
    wait = session.wait
    if wait is None or not waits_for(session, decision.id, taken=taken):
        return ()
    if decision.digest is not None and decision.digest != wait.digest:
        return ()
    edited = decision.args is not None
    # Whoever decides, and however: a secret that was typed is in no record; where it was put aside, the reference to it is.
    hides = wait.kind == "secret" and decision.approved and decision.note is not None and reference_in(decision.note) is None
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


def only_decided(session: Session) -> bool:
    """Whether a person decided on a call for which the run had stopped, and that has not begun since: nobody was in the middle of it."""
    began = session.turn.started if session.turn is not None else {}
    decided = any(call.id in session.decisions and call.id not in began for call in session.pending)
    return decided or any(only_decided(child) for child in session.children.values())


def _answer_to(wait: PendingApproval, decision: ApprovalDecision, now: str) -> r.AskAnswered:
    """What is recorded of an answer to running code; of a secret, only that it came."""
    late = expired(wait, now)
    answers = decision.approved and not late
    hidden = answers and wait.kind == "secret"
    value = MASKED_ANSWER if hidden else read_answer(decision.note, wait.question)[0] if answers else None
    note = None if decision.approved else decision.note
    return r.AskAnswered(decision.id, decision.approved, value, note, decision.by, late, hidden)


def waiting(session: Session, approval_id: str) -> PendingApproval | None:
    """What waits under this id: for which the run stopped, or which running code asks. None where nothing does (any more)."""
    ask = session.asks.get(approval_id)
    if ask is not None:
        return ask.approval if ask.answer is None else None
    return session.wait if waits_for(session, approval_id) else None


def refusal(session: Session, decision: ApprovalDecision, now: str) -> str | None:
    """Why a decision can not be taken, in one word; None where it can. What it was meant for goes on waiting."""
    wait = waiting(session, decision.id)
    if wait is None:
        return "no_pending_interrupts"
    if decision.digest is not None and decision.digest != wait.digest:
        return "digest_mismatch"
    if not decision.approved or expired(wait, now):
        return None
    dropped = wait.kind == "secret" and wait.step is None  # the run stopped for it, so nobody is there to take what was typed
    fits = (dropped or read_answer(decision.note, wait.question)[1]) and (decision.args is None or wait.kind == "tool")
    return None if fits else "invalid_answer"


def read_answer(said: str | None, question: Question | None) -> tuple[Any, bool]:
    """The value of an answer that was typed, and whether it is one.

    With a schema it is the text itself where that fits, else what it says as JSON.
    """
    text = said or ""
    if question is None:
        return text, True
    if question.options and not question.allow_free_text and text not in question.options:
        return text, False
    if question.schema is None:
        return text, True
    for value in (text, *_as_json(text)):
        if _fits(value, question.schema):
            return value, True
    return text, False


def _as_json(text: str) -> tuple[Any, ...]:
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return ()


def _fits(value: Any, schema: Any) -> bool:
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing.exceptions import Unresolvable

    try:
        return bool(validator_for(schema, default=Draft202012Validator)(schema).is_valid(value))
    except (Unresolvable, RecursionError):
        return False


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
