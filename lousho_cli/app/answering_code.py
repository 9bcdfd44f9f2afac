"""Answering what running code asks: handed to whoever drives the session, or taken up here where nobody does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from lousho_cli.app.driving import Ran, Tell
from lousho_cli.app.leaving import patient
from lousho_cli.app.own_credentials import OwnCredentials, way_of_secrets
from lousho_cli.app.pending import APPROVAL_NOT_FOUND, Waiting
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Post
from lousho_cli.errors import ConfigurationError, NotFoundError, SDKError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.leads import tell_lead
from lousho_cli.executor.secret_answers import by_reference
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.credentials_memory import MemoryCredentials

_WATCH_MS = 100

GoOn = Callable[[OwnCredentials], Awaitable[Ran]]
"""Drives the session here, with these credentials."""


async def answer_code(store: LogStore, found: Waiting, decision: ApprovalDecision, go_on: GoOn | None, tell: Tell) -> Ran | None:
    """Hands a decision over, and comes back when it counts.

    Args:
        go_on: None leaves the run to others.

    Returns:
        what ``go_on`` gave, None where it was not needed.

    Raises:
        ConfigurationError: the answer does not fit, or a secret can not be handed over.
        NotFoundError: somebody else was quicker.
    """
    held = MemoryCredentials()
    driven = await store.owner(found.session_id) is not None
    post = Post(SYSTEM_CLOCK.new_id(), "answer", SYSTEM_CLOCK.now(), decision.by, msgspec.to_builtins(decision))
    if found.wait.kind == "secret" and decision.approved:
        # Nobody but this process has to see it where this one drives the session; else it goes by what both can see.
        post = await by_reference(post, held if go_on is not None and not driven else _way_to_others(store, found), SYSTEM_CLOCK)
    await store.post(found.session_id, post)
    with patient(tell) as looks:
        while await _is_left(store, found.session_id, post.id):
            owner = await store.owner(found.session_id)
            if owner is None:
                break
            looks(owner)
            await store.watch(found.session_id, (await store.read(found.session_id)).head, _WATCH_MS)
        else:
            await _must_count(store, found, post.id)
            return None
    if go_on is None:  # it is kept; whoever drives the session next takes it
        await tell_lead(store, found.head.lead)
        return None
    came = await go_on(OwnCredentials(held))
    await _must_count(store, found, post.id)
    return came


def _way_to_others(store: LogStore, found: Waiting) -> Any:
    try:
        return way_of_secrets(store)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{found.wait.id} asks for a secret, which can be handed to who drives {found.session_id} through the keyring alone,"
            f" and {error.detail}",
            field="value",
            hint="Here and there: pip install 'lousho[keyring]'; or stop the other process and answer then.",
        ) from error


async def _is_left(store: LogStore, session_id: str, post_id: str) -> bool:
    return any(post.id == post_id for post in await store.inbox(session_id))


async def _must_count(store: LogStore, found: Waiting, post_id: str) -> None:
    refused = (await read_session(store, found.session_id)).inputs.get(post_id)
    if refused is not None and refused.status == "rejected":
        raise refused_answer(found, refused.error or "")


def refused_answer(found: Waiting, reason: str) -> SDKError:
    """The error for an answer that was refused."""
    if reason == "no_pending_interrupts":
        return NotFoundError(f"{found.wait.id} was already decided by somebody else", code=APPROVAL_NOT_FOUND, hint="See: lousho pending")
    if reason == "invalid_answer":
        schema = "" if found.wait.schema is None else f"It is to fit: {msgspec.json.encode(found.wait.schema).decode()}"
        return ConfigurationError("the answer does not fit the question", field="value", hint=schema)
    return ConfigurationError(
        f"whoever drives {found.session_id} could not read the secret ({reason})",
        field="value",
        hint="It needs the same keyring; answer again.",
    )
