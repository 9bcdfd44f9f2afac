"""Fork families: a session, what it was forked from, and what was forked from it."""

from __future__ import annotations

import msgspec

from lousho_cli.app.loading import load
from lousho_cli.app.results import Outcome, Status
from lousho_cli.app.sessions import read_heads
from lousho_cli.domain.heads import Head
from lousho_cli.errors import SDKError
from lousho_cli.ports.sessions import Sessions

LOOKED_INTO = 200
"""Of so many members of a family it is found out where they left; that takes reading each."""


class Member(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One session of a family. ``left_at``: the step of its parent at which it left, None where that is not known.

    ``gone``: it is named as a parent, and no longer there.
    """

    id: str
    agent: str = ""
    status: Status = "in-progress"
    step: int = 0
    updated_at: str = ""
    outcome: Outcome | None = None
    parent: str | None = None
    left_at: int | None = None
    gone: bool = False


async def family(store: Sessions, session_id: str, known: dict[str, int | None] | None = None) -> tuple[Member, ...]:
    """All sessions of the family that one belongs to, parents before their forks, forks by their id.

    Args:
        known: where sessions left their parents, by id. What is found out is added to it, as it never changes.

    Raises:
        StorageError: the store can not be read.
    """
    known = {} if known is None else known
    heads = {head.id: head for head in (await read_heads(store)).heads}
    forks: dict[str, list[str]] = {}
    for head in heads.values():
        if head.parent is not None and head.lead is None:
            forks.setdefault(head.parent, []).append(head.id)
    members: list[Member] = []
    waiting = [_first(heads, session_id)]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        members.append(await _member(store, one, heads.get(one), known, len(members) < LOOKED_INTO))
        waiting.extend(sorted(forks.get(one, ()), reverse=True))
    return tuple(members)


def _first(heads: dict[str, Head], session_id: str) -> str:
    """The oldest of the family; one that is gone where it was named last."""
    seen = {session_id}
    while (head := heads.get(session_id)) is not None and head.parent is not None and head.lead is None and head.parent not in seen:
        session_id = head.parent
        seen.add(session_id)
    return session_id


async def _member(store: Sessions, session_id: str, head: Head | None, known: dict[str, int | None], look: bool) -> Member:
    if head is None:
        return Member(id=session_id, gone=True)
    if look and head.parent is not None and session_id not in known:
        try:
            parent = (await load(store, session_id)).session.parent
        except SDKError:  # a damaged one is a member all the same
            parent = None
        known[session_id] = parent.step if parent is not None else None
    return Member(
        id=session_id,
        agent=head.agent,
        status=head.status,
        step=head.step,
        updated_at=head.updated_at,
        outcome=head.outcome,
        parent=head.parent,
        left_at=known.get(session_id),
    )
