"""Work that nobody drives is found by an index, and given to one who asks; of several tenants and agents each gets its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.stores.postgres import pending
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
NOW = "2026-06-01T00:00:00.000Z"


@pytest.fixture(autouse=True)
def offered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was given to one may be given to another at once, where a test does not say else."""
    monkeypatch.setattr(pending, "_FIND", pending._FIND.replace(f"- {pending.OFFER_MS}", "+ 1000"))


async def session(store: PostgresStore, log_id: str, batch: MakeBatch, *, ended: bool = False, agent: str = "a", **options: Any) -> Any:
    """A session with a run that is open, or has ended; saved as a host does at rest, and given back."""
    tenant, wake_at, release = options.get("tenant"), options.get("wake_at"), options.get("release", True)
    claim = await store.claim(log_id, "here", options.get("ttl_ms", 30_000))
    begin = (
        r.Claimed("here"),
        r.Created(agent, tenant=tenant),
        r.InputReceived("i", (user("hi"),)),
        r.InputApplied("i"),
        r.RunStarted("i"),
    )
    turn = (
        r.Turn(Message("assistant", "x")),
        *((r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed")) if ended else (r.Mark(1),)),
    )
    batches = [batch(1, claim.epoch, *begin), batch(2, claim.epoch, *turn)]
    await store.append(claim, batches)
    if options.get("saved", True):
        await store.save_head(claim, head_of(fold(batches)))
    if release:
        await store.release(claim, wake_at)
    return claim


async def ids(store: PostgresStore, limit: int = 100, now: str = NOW) -> list[str]:
    return [head.id for head in await store.pending(limit, now)]


async def test_only_what_has_work_is_found(store: PostgresStore, batch: MakeBatch) -> None:
    await session(store, "open", batch)
    await session(store, "ended", batch, ended=True)
    driven = await session(store, "driven", batch, release=False)
    await session(store, "unsaved", batch, saved=False)
    await session(store, "unsaved-ended", batch, saved=False, ended=True)
    assert sorted(await ids(store)) == ["open", "unsaved"]
    assert not driven.overdue
    assert await ids(store, 0) == []


async def test_what_has_no_work_is_not_looked_at_again(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    await session(store, "unsaved-ended", batch, saved=False, ended=True)
    due = "SELECT count(*) FROM {s}.logs WHERE due_ms IS NOT NULL"
    assert sql(due) == [(1,)]
    assert await ids(store) == []
    assert sql(due) == [(0,)]


async def test_a_background_agent_is_the_work_of_its_lead(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    claim = await store.claim("agent", "here")
    batches = [batch(1, 1, r.Claimed("here"), r.Created("a")), batch(2, 1, r.InputReceived("i", (user("hi"),)), r.InputApplied("i"))]
    await store.append(claim, batches)
    await store.save_head(claim, msgspec.structs.replace(head_of(fold(batches)), lead="lead", run=1))
    await store.release(claim)
    assert await ids(store) == []
    assert sql("SELECT due_ms FROM {s}.logs") == [(None,)]


async def test_a_wake_is_work_once_it_is_due(store: PostgresStore, batch: MakeBatch) -> None:
    await session(store, "later", batch, wake_at="2026-07-01T00:00:00.000Z")
    assert await ids(store) == []
    assert await ids(store, now="2026-07-01T00:00:00.001Z") == ["later"]


async def test_a_post_for_a_session_at_rest_is_work(store: PostgresStore, batch: MakeBatch) -> None:
    await session(store, "ended", batch, ended=True)
    assert await ids(store) == []
    await store.post("ended", Post("p", "input", NOW, body={}))
    assert await ids(store) == ["ended"]
    assert await ids(store) == ["ended"]


async def test_what_a_lost_owner_left_is_work(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    claim = await session(store, "left", batch, release=False)
    assert await ids(store) == []
    sql("UPDATE {s}.owners SET renewed_ms = renewed_ms - 40000")
    assert await ids(store) == ["left"]
    assert claim.epoch == 1


async def test_tenants_and_agents_take_turns(store: PostgresStore, batch: MakeBatch) -> None:
    for n in range(6):
        await session(store, f"big-{n}", batch, tenant="big")
    await session(store, "small", batch, tenant="small")
    await session(store, "other", batch, tenant="big", agent="b")
    first = await ids(store, 4)
    assert {"small", "other"} < set(first)
    assert len(first) == 4
    assert first[-1].startswith("big")


async def test_many_who_ask_at_once_get_different_work(
    store: PostgresStore, url: str, opened: Callable[..., PostgresStore], batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    for n in range(12):
        await session(store, f"s{n:02}", batch)
    workers = [opened(url) for _ in range(4)]
    got = await asyncio.gather(*(worker.pending(3, NOW) for worker in workers))
    given = [head.id for some in got for head in some]
    assert len(given) == len(set(given))
    rest = [head.id for _ in range(4) for head in await store.pending(3, NOW)]
    assert sorted([*given, *rest]) == [f"s{n:02}" for n in range(12)]
