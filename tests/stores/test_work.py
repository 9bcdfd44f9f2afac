"""How a store finds work by looking at all heads, where some can not be read."""

from __future__ import annotations

from lousho_cli.domain.heads import Head, Post
from lousho_cli.ports.log_store import Heads, Owner
from lousho_cli.ports.undriven import with_work

LEAD = Head(id="lead", run=1, status="finished", outcome="completed", agents={"x": "agent"})


class Some:
    """A store with these heads, of which nobody drives any."""

    def __init__(self, heads: Heads, *posted: str) -> None:
        self._heads, self._posted = heads, frozenset(posted)

    async def heads(self) -> Heads:
        return self._heads

    async def head(self, log_id: str) -> Head | None:
        return next((head for head in self._heads.heads if head.id == log_id), None)

    async def posted(self) -> frozenset[str]:
        return self._posted

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        return ()

    async def owner(self, log_id: str) -> Owner | None:
        return None


async def found(store: Some) -> list[str]:
    return [head.id for head in await with_work(store, "2026-06-01T00:00:00.000Z")]


async def test_a_background_agent_that_is_damaged_is_nobodys_work() -> None:
    assert await found(Some(Heads((LEAD,), (("agent", "records 1 to 1 are damaged"),)))) == []
    assert await found(Some(Heads((LEAD,)))) == ["lead"], "one that never began is"


async def test_what_is_left_for_a_background_agent_that_waits_is_the_work_of_its_lead() -> None:
    agent = Head(id="agent", run=1, status="awaiting-approval", lead="lead")
    assert await found(Some(Heads((LEAD, agent)))) == []
    assert await found(Some(Heads((LEAD, agent)), "agent")) == ["lead"]
