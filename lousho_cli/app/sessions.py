"""Sessions in a store: the list, and finding one by its id or the beginning of it. From heads alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from lousho_cli.app.loading import newer_than_this
from lousho_cli.app.results import Outcome, PendingItem, Status
from lousho_cli.app.sync import run_now
from lousho_cli.app.usage import Totals, head_totals
from lousho_cli.app.wiring import open_store
from lousho_cli.core.session_ids import check_session_id, keeps_only_a_pause
from lousho_cli.domain.heads import Head, WaitsFor
from lousho_cli.domain.session import IMPORT_CUT
from lousho_cli.errors import AmbiguousError, NotAStoreError, NotFoundError, StorageError
from lousho_cli.ports.log_store import Heads, LogStore
from lousho_cli.ports.sessions import Sessions

S = TypeVar("S", bound=Sessions)

_NAMED = 20  # how many ids an error lists before it only counts


class Listed(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One session in a list. ``usage``: of all its runs. ``cleared``: only its history is kept, the next message begins it anew."""

    id: str
    agent: str
    status: Status
    attempts: int
    step: int
    updated_at: str
    messages: int
    usage: Totals
    outcome: Outcome | None = None
    error: str | None = None
    waits_for: PendingItem | None = None
    parent: str | None = None
    created_at: str = ""
    cleared: bool = False


class Listing(msgspec.Struct, frozen=True):
    """Sessions, newest first: those asked for, and the damaged ones as (id, what is wrong).

    ``newer`` says in words which of them a newer version wrote.
    ``total`` counts those there are, ``cleared`` those left out because only their history is kept.
    """

    sessions: tuple[Listed, ...] = ()
    total: int = 0
    damaged: tuple[tuple[str, str], ...] = ()
    cleared: int = 0
    newer: tuple[str, ...] = ()


def is_cleared(head: Head) -> bool:
    """Whether only the history of a session is kept (``delete --keep-history``): nothing in it has still to end."""
    return not head.messages and not head.attempts and not head.outline.waiting and head.waits_for is None


async def read_heads(store: Sessions) -> Heads:
    """The sessions of a store, in no order: its logs without those that only keep a pause of a run elsewhere."""
    found = await store.heads()
    return Heads(tuple(head for head in found.heads if not keeps_only_a_pause(head)), found.damaged)


def heads_here(flag: str | None, *, pauses: bool = False) -> Sequence[Head]:
    """The sessions of the store that is meant, in no order; none without a store. ``pauses``: with those kept for elsewhere."""
    store = open_store(flag, create=False)
    if store is None:
        return ()
    return run_now(store.heads if pauses else lambda: read_heads(store)).heads


async def list_sessions(
    store: LogStore | None,
    *,
    status: str | None = None,
    agent: str | None = None,
    since: str | None = None,
    limit: int | None = None,
    cleared: bool = False,
) -> Listing:
    """The sessions of a store, newest first.

    Args:
        store: None stands for an empty one.
        status, agent: only those; None means any.
        since: only those touched at or after this UTC time.
        limit: at most so many; None means all.
        cleared: also those of which only the history is kept.
    """
    if store is None:
        return Listing()
    found = await read_heads(store)
    there = [head for head in found.heads if cleared or not is_cleared(head)]
    heads = [
        head
        for head in there
        if (status is None or head.status == status)
        and (agent is None or head.agent == agent)
        and (since is None or head.updated_at >= since)
    ]
    heads.sort(key=lambda head: (head.updated_at, head.id), reverse=True)
    shown = heads[:limit]
    newer = tuple(said for head in shown if (said := newer_than_this(head.id, head.format, head.unknown)))
    return Listing(tuple(map(listed, shown)), len(there), found.damaged, len(found.heads) - len(there), newer)


def listed(head: Head) -> Listed:
    """A head as it is listed."""
    return Listed(
        id=head.id,
        agent=head.agent,
        status=head.status,
        outcome=head.outcome,
        error=IMPORT_CUT if head.importing else head.error,
        attempts=head.attempts,
        step=head.step,
        waits_for=pending_item(head) or next(iter(asked_items(head)), None),
        created_at=head.created_at,
        updated_at=head.updated_at,
        messages=head.messages,
        usage=head_totals(head),
        parent=head.parent,
        cleared=is_cleared(head),
    )


def pending_item(head: Head) -> PendingItem | None:
    """What a session waits for, None when it does not wait."""
    return None if head.waits_for is None else _item(head, head.waits_for, head.outline.wait_call)


def asked_items(head: Head) -> list[PendingItem]:
    """What running code of a session asks, while it goes on."""
    return [_item(head, ask, place[-1]) for ask, place in zip(head.asks, head.outline.asks, strict=True)]


def _item(head: Head, wait: WaitsFor, call_id: str | None) -> PendingItem:
    return PendingItem(
        id=wait.id,
        session=head.id,
        tool=wait.tool,
        args=wait.args,
        digest=wait.digest,
        created_at=wait.created_at,
        kind=wait.kind,
        path=wait.path,
        expires_at=wait.expires_at,
        question=wait.question,
        options=wait.options,
        tool_call_id=call_id,
        url=wait.url,
        reason=wait.reason,
        step=wait.step,
        schema=wait.schema,
    )


async def find_session(store: S | None, name: str) -> tuple[S, str]:
    """The store and the id of the session that ``name`` means: an exact id, else the only one that begins so.

    A store that is not there (None) holds no session.

    Raises:
        ConfigurationError: it may not be an id.
        AmbiguousError: several begin so; ``kept`` lists them.
        NotFoundError: none does; ``kept`` lists what there is.
    """
    check_session_id(name)
    if store is None:
        raise not_found(name, ())
    if await head_of(store, name) is not None:
        return store, name
    heads = await read_heads(store)
    ids = sorted({head.id for head in heads.heads} | {log_id for log_id, _ in heads.damaged})
    if name in ids:
        return store, name
    matches = [one for one in ids if one.startswith(name)]
    if len(matches) > 1:
        raise AmbiguousError(f"{name} is the beginning of {len(matches)} sessions", kept=matches, hint=_named("They are", matches))
    if not matches:
        raise not_found(name, ids)
    return store, matches[0]


async def head_of(store: Sessions, session_id: str) -> Head | None:
    """The head of a session; None where there is none, and where its log can not be read."""
    try:
        return await store.head(session_id)
    except NotAStoreError:
        raise
    except StorageError:
        return None


def not_found(name: str, ids: Sequence[str]) -> NotFoundError:
    """The error for a session that is not there, listing those that are."""
    hint = _named("There is", ids) if ids else "There is no session here yet; begin with: lousho run"
    return NotFoundError(f"there is no session {name}", kept=ids, code="LOUSHO_SESSION_NOT_FOUND", hint=hint)


def _named(what: str, ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{what}: {', '.join(ids[:_NAMED])}{more}."
