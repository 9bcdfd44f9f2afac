"""Which sessions did not end, told from their heads. A background agent is the work of its lead: it goes on with that one."""

from __future__ import annotations

from lousho_cli.app.sessions import is_cleared, read_heads
from lousho_cli.domain.heads import Head
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.undriven import Known, any_to_look_after


async def unfinished(store: LogStore) -> list[Head]:
    """Those whose run did not end, or that have a background agent which was left."""
    there = await read_heads(store)
    known = Known.of(there)
    leads = [head for head in there.heads if head.lead is None and not head.importing]
    return [head for head in leads if _is_open(head) or await _agents_left(store, head, known)]


async def to_go_on(store: LogStore) -> list[Head]:
    """Those that ``resume --all`` means: that nobody drives, without those that ended failed or aborted; oldest first."""
    there = await read_heads(store)
    known = Known.of(there)
    mine = (head for head in there.heads if head.lead is None and not head.importing)
    leads = sorted(mine, key=lambda head: head.updated_at)
    wanted = [head for head in leads if _goes_on_by_itself(head) or await _agents_left(store, head, known)]
    return [head for head in wanted if await store.owner(head.id) is None]


async def agents_left(store: LogStore, session_id: str) -> tuple[str, ...]:
    """The sessions of background agents that did not end, where one of them, or of theirs, was left.

    One was left that waits for nobody and that nobody drives.
    """
    head = await store.head(session_id)
    left = head is not None and await _agents_left(store, head, None)
    return tuple(head.agents.values()) if head is not None and left else ()


async def lead_of(store: LogStore, head: Head) -> str | None:
    """The session that a background agent works for in the end; None for one that works for none."""
    found = None
    while head.lead is not None and (above := await store.head(head.lead)) is not None:
        found, head = head.lead, above
    return found


async def waiting_agent(store: LogStore, session_id: str) -> Head | None:
    """A background agent of a session, or one of an agent's, that waits for a person; None where none does."""
    head = await store.head(session_id)
    for agent_id in head.agents.values() if head is not None else ():
        agent = await store.head(agent_id)
        if agent is not None and agent.waits_for is not None:
            return agent
        if (below := await waiting_agent(store, agent_id)) is not None:
            return below
    return None


async def _agents_left(store: LogStore, head: Head, known: Known | None) -> bool:
    return await any_to_look_after(store, head, SYSTEM_CLOCK.now(), known)


def _is_open(head: Head) -> bool:
    return head.status != "finished" and not is_cleared(head)


def _goes_on_by_itself(head: Head) -> bool:
    """Whether a run did not end, or an input waits that never ran; what ended failed or aborted is not meant."""
    return (_is_open(head) and head.outcome not in ("failed", "aborted")) or bool(head.outline.waiting)
