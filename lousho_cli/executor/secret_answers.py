"""Secret answers on their way to the host that asked: a reference in the post, the answer itself in the credential store.

A reference is used once. Its owner takes it out of the store, and it is gone even where the question has ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.answering import read_answer, waiting
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.session import Session
from lousho_cli.domain.times import later
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import ANSWER_PREFIX, SECRET_ANSWER, Credential, Credentials, RunCredentials

LASTS_MS = 24 * 3_600_000

UNKNOWN = "unknown_secret_answer"
NEEDS_CREDENTIALS = "secret_answer_needs_credentials"

_REFERENCE = "reference"


def is_secret(session: Session, post: Post) -> bool:
    """Whether a post that would be left for another holds an answer nobody may see: to a secret question, or to none we know."""
    if post.kind != "answer" or not isinstance(post.body, dict) or post.body.get("note") is None or not post.body.get("approved"):
        return False
    wait = waiting(session, str(post.body.get("id")))
    return wait is None or (wait.kind == "secret" and wait.step is not None)


async def by_reference(post: Post, credentials: Credentials, clock: Clock) -> Post:
    """The post with a reference in place of its answer, which is in the store from here on, for its sender alone."""
    reference = f"{ANSWER_PREFIX}{post.id}"
    expires_at = later(clock.now(), LASTS_MS)
    await credentials.save(Credential(reference, SECRET_ANSWER, post.by, expires_at, str(post.body["note"])))
    body = {name: value for name, value in post.body.items() if name != "note"} | {_REFERENCE: reference}
    return msgspec.structs.replace(post, body=body)


async def opened(log: SessionLog, post: Post) -> Post | r.InputRejected:
    """A post with the answer that its reference stood for, or its refusal; any other as it is.

    Raises:
        StorageError: the credential store can not be asked; the post can be looked at again.
    """
    if post.kind != "answer" or not isinstance(post.body, dict) or post.id in log.session.inputs:
        return post
    if post.body.get(_REFERENCE) is not None:
        if log.credentials is None:
            return r.InputRejected(post.id, NEEDS_CREDENTIALS)
        found = await log.credentials.take(str(post.body[_REFERENCE]), post.by)
        if found is None or found.type != SECRET_ANSWER or (found.expires_at is not None and found.expires_at <= log.clock.now()):
            return r.InputRejected(post.id, UNKNOWN)
        body = {name: value for name, value in post.body.items() if name != _REFERENCE}
        return msgspec.structs.replace(post, body=body | {"note": found.value})
    return post


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
    return RunCredentials(lead.credentials, sender.by) if sender is not None else _NONE


_NONE = RunCredentials()
