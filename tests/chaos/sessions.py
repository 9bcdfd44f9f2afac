"""Sessions of the agents in ``agents``, left behind as if who had begun them was gone."""

from __future__ import annotations

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.stores.postgres.store import PostgresStore


async def begin(store: PostgresStore, name: str, agent: str) -> None:
    """Leaves a session behind whose run had only begun."""
    claim = await store.claim(name, "test")
    started = (r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1"))
    batch = r.Batch(1, claim.epoch, "2026-01-02T03:04:05.000Z", (r.Claimed("test"), r.Created(agent), *started))
    await store.append(claim, [batch])
    await store.save_head(claim, head_of(fold([batch])))
    await store.release(claim)
