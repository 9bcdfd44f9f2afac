"""Secret answers: a reference in the log, the answer itself in the credential store, for who answered, once.

    running code asked (``step.ask``)   the owner takes the answer out of the store and gives it to the call that waits
    a model asked (``ask-question``)    the run stopped for it: the reference is what the model gets, and a tool it is
                                        handed to takes the answer (``RunCredentials.take``)

A reference that was taken is gone, even where the question has ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.answering import read_answer, waiting
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval
from lousho_cli.domain.heads import Post
from lousho_cli.domain.secret_references import ANSWER_PREFIX, reference_in, shown_reference
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import MASKED_ANSWER
from lousho_cli.domain.times import later
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import SECRET_ANSWER, Credential, Credentials, RunCredentials

LASTS_MS = 24 * 3_600_000

UNKNOWN = "unknown_secret_answer"
NEEDS_CREDENTIALS = "secret_answer_needs_credentials"

_REFERENCE = "reference"


def is_secret(session: Session, post: Post) -> bool:
    """Whether a post that would be left for another holds an answer nobody may see: to a secret question, or to none we know."""
    if post.kind != "answer" or not isinstance(post.body, dict) or post.body.get("note") is None or not post.body.get("approved"):
        return False
    wait = waiting(session, str(post.body.get("id")))
    kept = post.body["note"] == MASKED_ANSWER or reference_in(post.body["note"]) is not None  # by who left it, or nowhere
    return (wait is None or wait.kind == "secret") and not kept


async def by_reference(post: Post, credentials: Credentials, clock: Clock) -> Post:
    """The post with a reference in place of its answer, which is in the store from here on, for its sender alone."""
    reference = await put_aside(post.id, str(post.body["note"]), post.by, credentials, clock)
    body = {name: value for name, value in post.body.items() if name != "note"} | {_REFERENCE: reference}
    return msgspec.structs.replace(post, body=body)


async def put_aside(post_id: str, secret: str, user: str | None, credentials: Credentials, clock: Clock) -> str:
    """Keeps a secret for who typed it, and gives the reference to it; those of theirs that nobody took in time go.

    Raises:
        StorageError, ConfigurationError: as the store does.
    """
    for old in await credentials.list(user, SECRET_ANSWER):
        if old.expires_at is not None and old.expires_at <= clock.now():
            await credentials.delete(old.id, user)
    reference = f"{ANSWER_PREFIX}{post_id}"
    await credentials.save(Credential(reference, SECRET_ANSWER, user, later(clock.now(), LASTS_MS), secret))
    return reference


async def decided_aside(
    decision: ApprovalDecision, wait: PendingApproval, credentials: Credentials | None, clock: Clock
) -> ApprovalDecision:
    """The decision with the reference to the secret it brings, where there is a store for it. Raises as ``put_aside``."""
    secret = decision.note
    if credentials is None or not _stops(wait) or not decision.approved or secret in (None, MASKED_ANSWER) or reference_in(secret):
        return decision
    reference = await put_aside(clock.new_id(), str(secret), decision.by, credentials, clock)
    return msgspec.structs.replace(decision, note=shown_reference(reference))


async def opened(log: SessionLog, post: Post) -> Post | r.InputRejected:
    """A post with the answer that its reference stood for, or its refusal; any other as it is.

    Where the run stopped for the secret, the post gets the reference as its answer, and the secret stays where it is kept.

    Raises:
        StorageError: the credential store can not be asked; the post can be looked at again.
    """
    if post.kind != "answer" or not isinstance(post.body, dict) or post.id in log.session.inputs:
        return post
    stopped = _stops(waiting(log.session, str(post.body.get("id"))))
    reference = post.body.get(_REFERENCE)
    if reference is not None:
        if log.credentials is None:
            return r.InputRejected(post.id, NEEDS_CREDENTIALS)
        ask = log.credentials.read if stopped else log.credentials.take
        found = await ask(str(reference), post.by)
        if found is None or found.type != SECRET_ANSWER or (found.expires_at is not None and found.expires_at <= log.clock.now()):
            return r.InputRejected(post.id, UNKNOWN)
        return _answering(post, shown_reference(str(reference)) if stopped else found.value)
    if stopped and is_secret(log.session, post) and log.credentials is not None:
        try:
            return _answering(post, shown_reference(await put_aside(post.id, str(post.body["note"]), post.by, log.credentials, log.clock)))
        except ConfigurationError:
            return post  # there is no store here after all, so the secret is kept nowhere
    return post


def _stops(wait: PendingApproval | None) -> bool:
    """Whether a run stopped for a secret."""
    return wait is not None and wait.kind == "secret" and wait.step is None


def _answering(post: Post, note: str) -> Post:
    body = {name: value for name, value in post.body.items() if name != _REFERENCE}
    return msgspec.structs.replace(post, body=body | {"note": note})


def hand_over(log: SessionLog, post: Post, records: Sequence[r.Record]) -> None:
    """Keeps a secret answer for the call that asked, before ``records`` of its post say that it came: they do not hold it."""
    for record in records:
        ask = log.session.asks.get(record.id) if isinstance(record, r.AskAnswered) and record.hidden else None
        if ask is not None:
            log.asks.hold(ask.approval, read_answer(post.body["note"], ask.approval.question)[0])


def credentials_of(log: DrivenLog) -> RunCredentials:
    """What a tool of this run may see of the owner's credential store: what belongs to the person whose input it answers."""
    lead = log if isinstance(log, SessionLog) else log.lead
    sender = lead.session.inputs.get(lead.run.input_id) if lead.credentials is not None else None
    return RunCredentials(lead.credentials, sender.by, lead.clock.now) if sender is not None else _NONE


_NONE = RunCredentials()
