"""Work that nobody drives, found by looking at all heads: what every log store can do that has no quicker way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import NamedTuple, Protocol

from lousho_cli.core.pending import has_work, off_limits, to_look_after
from lousho_cli.domain.heads import Head, Post
from lousho_cli.errors import DamagedLogError
from lousho_cli.ports.log_store import Heads, Owner


class Looked(Protocol):
    """The part of a log store that finding work takes."""

    async def heads(self) -> Heads:
        """See ``Index``."""

    async def head(self, log_id: str) -> Head | None:
        """See ``Index``."""

    async def posted(self) -> frozenset[str]:
        """See ``Index``."""

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        """See ``Index``."""

    async def owner(self, log_id: str) -> Owner | None:
        """See ``Claims``."""


async def undriven(store: Looked, now: str, only: Collection[str] | None = None) -> AsyncIterator[Head]:
    """The heads of threads with work that nobody drives, longest untouched first. Background agents are their leads' work.

    Args:
        only: ids of threads; no other is looked at, and they are in this order.

    Raises:
        StorageError: the store can not be read.
    """
    if only is None:
        for head in await with_work(store, now):
            if await store.owner(head.id) is None:
                yield head
        return
    async for head in among(store, now, only):
        if await store.owner(head.id) is None:
            yield head


async def among(store: Looked, now: str, only: Collection[str]) -> AsyncIterator[Head]:
    """The heads of those of some threads that have work, whoever drives them; each is read when it is asked for.

    Raises:
        StorageError: the store can not be read.
    """
    for thread_id in only:
        head = await store.head(thread_id)
        if head is None or off_limits(head) or head.lead is not None:
            continue
        if has_work(head, now) or await store.inbox(head.id) or await any_to_look_after(store, head, now):
            yield head


async def with_work(store: Looked, now: str) -> list[Head]:
    """The heads of threads with work, longest untouched first, whoever drives them.

    Raises:
        StorageError: the store can not be read.
    """
    there = await store.heads()
    known = Known.of(there, await store.posted())
    leads = [head for head in there.heads if head.lead is None and not off_limits(head)]
    found = [head for head in leads if has_work(head, now) or head.id in known.posted or await any_to_look_after(store, head, now, known)]
    return sorted(found, key=_touched)


class Known(NamedTuple):
    """What is known of all threads: their heads, which can not be read, and for which something was left."""

    heads: Mapping[str, Head]
    damaged: Collection[str]
    posted: Collection[str]

    @classmethod
    def of(cls, there: Heads, posted: Collection[str] = ()) -> Known:
        """What a list says of them."""
        return cls({head.id: head for head in there.heads}, frozenset(log_id for log_id, _ in there.damaged), posted)


class Cared(NamedTuple):
    """Whether a background agent of a thread wants somebody to look after it, and nobody drives it.

    sure: where none does, whether all that was seen of them is their own word: each has begun, and can be read.
    """

    wanted: bool
    sure: bool


async def any_to_look_after(store: Looked, head: Head, now: str, known: Known | None = None) -> bool:
    """Whether a thread has a background agent that wants somebody to look after it, and that nobody drives."""
    return (await agents_of(store, head, now, known)).wanted


async def agents_of(store: Looked, head: Head, now: str, known: Known | None = None) -> Cared:
    """How it stands with the background agents of a thread, and with theirs.

    One that is damaged can not be gone on with before it is repaired, and holds nobody up.
    """
    sure = True
    for session_id in filter(None, head.agents.values()):
        try:
            agent = await store.head(session_id) if known is None else known.heads.get(session_id)
        except DamagedLogError:
            sure = False
            continue
        if known is not None and session_id in known.damaged:
            continue
        wanted = to_look_after(agent, now) or (session_id in known.posted if known is not None else await store.inbox(session_id))
        if wanted and await store.owner(session_id) is None:
            return Cared(True, sure)
        below = Cared(False, False) if agent is None else await agents_of(store, agent, now, known)
        if below.wanted:
            return below
        sure = sure and below.sure and agent is not None and agent.run > 0
    return Cared(False, sure)


def _touched(head: Head) -> str:
    return head.updated_at
