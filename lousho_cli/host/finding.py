"""Finding threads that have work and that nobody drives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from lousho_cli.core.pending import has_work, is_newer
from lousho_cli.domain.heads import Head
from lousho_cli.host.agents import any_to_look_after
from lousho_cli.ports.log_store import LogStore


async def undriven(store: LogStore, now: str, only: Collection[str] | None = None) -> AsyncIterator[Head]:
    """The heads of threads with work that nobody drives, longest untouched first. Background agents are their leads' work.

    Args:
        only: ids of threads; no other is looked at.

    Raises:
        StorageError: the store can not be read.
    """
    heads = (await store.heads()).heads if only is None else [await store.head(thread_id) for thread_id in only]
    known = {head.id: head for head in heads if head is not None}
    posted = await store.posted()
    for head in sorted((head for head in known.values() if head.lead is None), key=lambda head: head.updated_at):
        if is_newer(head):
            continue
        wanted = has_work(head, now) or head.id in posted or await any_to_look_after(store, head, now, known if only is None else None)
        if wanted and await store.owner(head.id) is None:
            yield head
