"""What becomes of a post: whatever others want of a session is turned into records here, by its owner alone.

It does not matter whether a post was handed over in this process or left in the store by another: the same
function says what it means for the session as it is now. What the log knows already is recorded no second time.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.core.admit import same_input
from lousho_cli.core.answering import answer_records
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import Session

Busy = Literal["queue", "steer", "reject"]


class InputBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an input that says more than its messages.

    busy: what it does while a turn runs or others wait. overrides: what it wants otherwise than its agent; plain JSON.
    """

    messages: tuple[Message, ...]
    busy: Busy = "queue"
    overrides: dict[str, Any] = {}


class AboutInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a wish about an input that waits. ``joins``: whether it is to enter the turn that runs."""

    input: str
    joins: bool = False


def entered(session: Session, post: Post, now: str) -> tuple[r.Record, ...]:
    """The records of a post; none where the log has it, or it means nothing any more.

    Raises:
        msgspec.ValidationError: its body is not what its kind says.
    """
    match post.kind:
        case "input":
            return _input(session, post)
        case "answer":
            records = answer_records(session, msgspec.convert(post.body, ApprovalDecision), now)
            # Named, so that whoever left it can see that it was this post that decided.
            return tuple(msgspec.structs.replace(one, post=post.id) if isinstance(one, r.WaitAnswered) else one for one in records)
        case "cancel" | "move":
            return _about(session, post)
        case "abort":
            return (r.AbortAsked(post.by),) if runs(session) else ()


def input_body(post: Post) -> InputBody:
    """What an input says. Raises like ``entered``."""
    if isinstance(post.body, list):
        return InputBody(msgspec.convert(post.body, tuple[Message, ...]))
    return msgspec.convert(post.body, InputBody)


def runs(session: Session) -> bool:
    """Whether a run stands open, whether or not anybody drives it."""
    return session.exists and not session.ended and session.outcome is None


def occupied(session: Session) -> bool:
    """Whether an input that comes now would have to wait for another. A session that waits for a person is not."""
    return bool(session.waiting) or (runs(session) and not session.awaiting)


def _input(session: Session, post: Post) -> tuple[r.Record, ...]:
    body, known = input_body(post), session.inputs.get(post.id)
    if known is not None:
        if same_input(known, body.messages, post.by):
            return ()
        said = f"input {post.id} was used before, with other content or by somebody else; it was dropped"
        return (r.Note("conflict", text_of(said)),)
    if body.busy == "reject" and occupied(session):
        return (r.InputRejected(post.id, "busy"),)
    joins = body.busy == "steer" and runs(session) and not session.awaiting
    return (r.InputReceived(post.id, body.messages, post.by, joins, body.overrides),)


def _about(session: Session, post: Post) -> tuple[r.Record, ...]:
    body = msgspec.convert(post.body, AboutInput)
    known = session.inputs.get(body.input)
    if post.id in session.inputs:
        return ()
    if known is None or known.status != "received":
        return (r.InputRejected(post.id, "not_waiting"),)
    return (r.InputTakenBack(body.input),) if post.kind == "cancel" else (r.InputMoved(body.input, body.joins),)
