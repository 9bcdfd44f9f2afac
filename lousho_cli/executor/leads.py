"""Telling the host that drives a lead that somebody else changed one of its background agents."""

from __future__ import annotations

import logging

import msgspec

from lousho_cli.core.background import Starts
from lousho_cli.domain.heads import Post
from lousho_cli.errors import SDKError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore

log_to = logging.getLogger("lousho")


async def tell_lead(store: LogStore, lead: str | None, clock: Clock = SYSTEM_CLOCK) -> None:
    """Has whoever drives a lead look after its agents, as after a post that starts some. Call it once the agent is given back.

    Where nobody drives the lead, its own lead is told; where nobody drives any, whoever takes one up finds out by itself.

    What was done stands, whether or not this succeeds: a store that fails is only warned of.

    Args:
        lead: None for a session that is no background agent, of which nobody is told.
    """
    seen: set[str] = set()
    try:
        while lead is not None and lead not in seen:
            seen.add(lead)
            if await store.owner(lead) is not None:
                await store.post(lead, Post(clock.new_id(), "agents", clock.now(), None, msgspec.to_builtins(Starts(()))))
                return
            head = await store.head(lead)
            lead = head.lead if head is not None else None
    except SDKError as error:
        log_to.warning("%s: whoever drives it could not be told that a background agent of it was changed: %s", lead, error)
