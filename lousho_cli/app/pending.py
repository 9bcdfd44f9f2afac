"""What waits for a person, and finding one such thing by what a person types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lousho_cli.app.results import PendingItem
from lousho_cli.app.sessions import asked_items, pending_item
from lousho_cli.domain.heads import Head, WaitsFor
from lousho_cli.errors import AmbiguousError, NotFoundError
from lousho_cli.ports.log_store import LogStore

SHORTEST_PREFIX = 4
"""So many characters of an approval id are enough, where they fit only one."""

APPROVAL_NOT_FOUND = "LOUSHO_APPROVAL_NOT_FOUND"


class Pending(msgspec.Struct, frozen=True):
    """Everything that waits, oldest first, and the sessions that could not be read, as (id, what is wrong)."""

    items: tuple[PendingItem, ...] = ()
    damaged: tuple[tuple[str, str], ...] = ()


async def list_pending(store: LogStore | None) -> Pending:
    """Everything in a store that waits for a person. From heads alone."""
    if store is None:
        return Pending()
    found = await store.heads()
    return Pending(pending_of(found.heads), found.damaged)


def pending_of(heads: Iterable[Head]) -> tuple[PendingItem, ...]:
    """What these sessions wait for, oldest first."""
    items = [item for head in heads for item in (*asked_items(head), pending_item(head)) if item is not None]
    return tuple(sorted(items, key=lambda item: (item.created_at, item.id)))


class Waiting(msgspec.Struct, frozen=True):
    """One thing that waits, with its session."""

    session_id: str
    head: Head
    wait: WaitsFor


async def find_waiting(store: LogStore | None, name: str) -> Waiting:
    """The one that is meant: an approval id, a beginning of it, a session, or the beginning of one, in this order.

    Raises:
        AmbiguousError: several fit; ``kept`` lists their approval ids.
        NotFoundError: none does, or it was decided; ``kept`` lists what waits.
    """
    heads = (await store.heads()).heads if store is not None else ()
    waiting = [Waiting(head.id, head, wait) for head in heads for wait in head.waits]
    long_enough = len(name) >= SHORTEST_PREFIX
    decided = [head for head in heads if name in head.decided]
    for fits in (
        [one for one in waiting if one.wait.id == name],
        [] if decided or not long_enough else [one for one in waiting if one.wait.id.startswith(name)],
        [one for one in waiting if one.session_id == name],
        [] if decided or any(head.id == name for head in heads) else [one for one in waiting if name and one.session_id.startswith(name)],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise AmbiguousError(
                f"{name} fits {len(fits)} approvals", kept=[one.wait.id for one in fits], hint=f"They are: {_listed(fits)}."
            )
    raise _nothing(name, waiting, heads=[head.id for head in heads], decided=bool(decided))


def _nothing(name: str, waiting: list[Waiting], *, heads: list[str], decided: bool) -> NotFoundError:
    if decided:
        what = f"{name} was already decided"
    elif name in heads:
        what = f"session {name} waits for nobody"
    else:
        what = f"nothing waits under {name}: it is unknown or already decided"
    return NotFoundError(
        what,
        kept=[one.wait.id for one in waiting],
        code=APPROVAL_NOT_FOUND,
        hint=f"What waits: {_listed(waiting)}." if waiting else "Nothing waits here; see: lousho list",
        session_id=name if name in heads else None,
    )


def _listed(waiting: Sequence[Waiting]) -> str:
    return ", ".join(f"{one.wait.id} ({one.wait.named_tool} in {one.session_id})" for one in waiting)
