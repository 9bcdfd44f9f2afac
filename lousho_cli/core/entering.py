"""What becomes of a post: whatever others want of a session is turned into records here, by its owner alone.

It does not matter whether a post was handed over in this process or left in the store by another: the same
function says what it means for the session as it is now. What the log knows already is recorded no second time.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.core.admit import same_input
from lousho_cli.core.answering import answer_records, refusal
from lousho_cli.core.appending import Project, appended, digest_of_records, says_nothing
from lousho_cli.core.background import ended_agent, started_agents
from lousho_cli.core.between import NOTHING_TO_CONTINUE, can_continue
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.resets import reset_marker
from lousho_cli.domain.session import InputState, Session

Busy = Literal["queue", "steer", "reject"]


class InputBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an input that says more than its messages. Without messages it only wants the session to go on.

    busy: what it does while a turn runs or others wait. overrides: what it wants otherwise than its agent; plain JSON.
    """

    messages: tuple[Message, ...] = ()
    busy: Busy = "queue"
    overrides: dict[str, Any] = {}


class AboutInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a wish about an input that waits. ``joins``: whether it is to enter the turn that runs."""

    input: str
    joins: bool = False


class ResetBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a reset. ``note`` is what the model still sees of the talk before."""

    note: str | None = None


class AppendBody(msgspec.Struct, frozen=True):
    """The body of a user's own records."""

    records: tuple[dict[str, Any], ...]


class SettingBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a setting; a value that is None takes it away."""

    name: str
    value: Any = None


class WakeBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a wish to be taken up at a time, None to take it back, perhaps with an input."""

    at: str | None
    messages: tuple[Message, ...] = ()


def entered(session: Session, post: Post, now: str, project: Project = says_nothing) -> tuple[r.Record, ...]:
    """The records of a post; none where the log has it, or it means nothing any more.

    Args:
        project: what a user's own record says to the model; pure.

    Raises:
        msgspec.ValidationError: its body is not what its kind says.
    """
    match post.kind:
        case "input" | "reset" | "append":
            known = session.inputs.get(post.id)
            if known is not None:
                return () if repeats(known, post) else (_conflict(post.id),)
            return _taken(session, post, project)
        case "answer":
            return _answer(session, post, now)
        case "cancel" | "move":
            return _about(session, post)
        case "abort":
            return (r.AbortAsked(post.by),) if runs(session) else ()
        case "agents":
            return started_agents(session, post)
        case "agent_ended":
            return ended_agent(session, post)
        case "wake":
            wish = msgspec.convert(post.body, WakeBody)
            return () if post.id in session.inputs else (r.WakeSet(wish.at, post.id, wish.messages, post.by),)
        case "setting":
            wanted = msgspec.convert(post.body, SettingBody)
            return () if session.settings.get(wanted.name) == wanted.value else (r.SettingChanged(wanted.name, wanted.value),)
        case "command":
            # Who carries commands out takes them before they come here.
            return () if post.id in session.inputs else (r.InputRejected(post.id, "unknown_command"),)


def input_body(post: Post) -> InputBody:
    """What an input says. Raises like ``entered``."""
    if isinstance(post.body, list):
        return InputBody(msgspec.convert(post.body, tuple[Message, ...]))
    return msgspec.convert(post.body, InputBody)


def messages_of(post: Post) -> tuple[Message, ...]:
    """The messages of an input or a reset. Raises like ``entered``."""
    if post.kind == "reset":
        return (reset_marker(msgspec.convert(post.body or {}, ResetBody).note),)
    return input_body(post).messages


def repeats(known: InputState, post: Post) -> bool:
    """Whether a post under an id that the log knows is the same once more: the same content from the same sender."""
    if post.kind == "append":
        return known.digest == digest_of_records(msgspec.convert(post.body, AppendBody).records) and known.by == post.by
    return post.kind in ("input", "reset") and same_input(known, messages_of(post), post.by)


def runs(session: Session) -> bool:
    """Whether a run stands open, whether or not anybody drives it."""
    return session.exists and not session.ended and session.outcome is None


def occupied(session: Session) -> bool:
    """Whether an input that comes now would have to wait for another. A session that waits for a person is not."""
    return bool(session.waiting) or (runs(session) and not session.awaiting)


def _conflict(input_id: str) -> r.Note:
    return r.Note("conflict", text_of(f"input {input_id} was used before, with other content or by somebody else; it was dropped"))


def _taken(session: Session, post: Post, project: Project) -> tuple[r.Record, ...]:
    if post.kind == "append":
        return appended(post.id, msgspec.convert(post.body, AppendBody).records, post.by, project)
    if post.kind == "reset":
        return _reset(session, post)
    body = input_body(post)
    if body.busy == "reject" and occupied(session):
        return (r.InputRejected(post.id, "busy"),)
    if not body.messages and not occupied(session) and not session.awaiting and not can_continue(session):
        return (r.InputRejected(post.id, NOTHING_TO_CONTINUE),)
    joins = body.busy == "steer" and bool(body.messages) and runs(session) and not session.awaiting
    return (r.InputReceived(post.id, body.messages, post.by, joins, body.overrides),)


def _reset(session: Session, post: Post) -> tuple[r.Record, ...]:
    if session.awaiting:
        return (r.InputRejected(post.id, "pending_interrupts"),)
    received = r.InputReceived(post.id, messages_of(post), post.by)
    return (received,) if runs(session) else (received, r.InputApplied(post.id))


def _answer(session: Session, post: Post, now: str) -> tuple[r.Record, ...]:
    if post.id in session.inputs:
        return ()
    decision = msgspec.convert(post.body, ApprovalDecision)
    refused = refusal(session, decision, now)
    if refused is not None:
        return (r.InputRejected(post.id, refused),)
    # Named, so that whoever left it can see that it was this post that decided.
    return tuple(
        msgspec.structs.replace(record, post=post.id) if isinstance(record, r.WaitAnswered | r.AskAnswered) else record
        for record in answer_records(session, decision, now)
    )


def _about(session: Session, post: Post) -> tuple[r.Record, ...]:
    body = msgspec.convert(post.body, AboutInput)
    known = session.inputs.get(body.input)
    if post.id in session.inputs:
        return ()
    if known is None or known.status != "received":
        return (r.InputRejected(post.id, "not_waiting"),)
    return (r.InputTakenBack(body.input),) if post.kind == "cancel" else (r.InputMoved(body.input, body.joins),)
