"""Work that nobody drives is found by an index, and given to one who asks. What every store promises of it is in the contracts."""

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
    monkeypatch.setattr(pending, "OFFER_MS", -1000)
    monkeypatch.setattr(pending, "TIDY_EVERY_S", 0.0)


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


async def test_what_a_lost_owner_left_is_work(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    claim = await session(store, "left", batch, release=False)
    assert await ids(store) == []
    sql("UPDATE {s}.owners SET renewed_ms = renewed_ms - 40000")
    assert await ids(store) == ["left"]
    assert claim.epoch == 1


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


async def test_ten_thousand_sessions_of_one_agent_hold_up_no_other(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    await session(store, "big-0", batch, tenant="big")
    many = "SELECT 'big-' || g, 1, 2, 1, due_ms - 1000000, lane FROM {s}.logs, generate_series(1, 10000) g"
    sql(f"INSERT INTO {{s}}.logs (id, epoch, head, head_epoch, due_ms, lane) {many}")
    sql("INSERT INTO {s}.records SELECT l.no, r.seq, r.epoch, r.line FROM {s}.logs l, {s}.records r WHERE l.no > r.no")
    await session(store, "small", batch, tenant="small")
    given = [head.id for _ in range(3) for head in await store.pending(1, NOW)]
    assert "small" in given
    assert len([one for one in given if one.startswith("big-")]) >= 1


async def test_what_never_rested_has_its_turn_too(store: PostgresStore, batch: MakeBatch) -> None:
    for n in range(4):
        await session(store, f"a-{n}", batch, agent="a", saved=False)
    await session(store, "b", batch, agent="b", saved=False)
    assert "b" in await ids(store, 2)


async def test_thousands_that_run_elsewhere_do_not_hide_what_is_free(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    claim = await session(store, "driven", batch, release=False)
    many = "SELECT 'driven-' || g, owner, ttl_ms, due_ms, lane, 2 FROM {s}.logs, generate_series(1, 5000) g"
    sql(f"INSERT INTO {{s}}.logs (id, owner, ttl_ms, due_ms, lane, head) {many}")
    await session(store, "free", batch)
    assert await ids(store, 4) == ["free"]
    assert not claim.overdue


async def test_a_closed_store_leaves_its_work_to_others(
    store: PostgresStore, url: str, opened: Callable[..., PostgresStore], batch: MakeBatch
) -> None:
    gone = opened(url)
    claim = await session(gone, "left", batch, release=False)
    assert await ids(store) == []
    gone.close()
    assert await ids(store) == ["left"]
    assert await store.owner("left") is None
    assert claim.epoch == 1


async def test_posts_for_sessions_that_never_began_are_in_nobodys_way(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    await store.post("nothing", Post("p", "abort", NOW))
    await session(store, "s", batch)
    assert await ids(store) == ["s"]
    assert sql("SELECT due_ms FROM {s}.logs WHERE id = 'nothing'") == [(None,)]
    await session(store, "nothing", batch)
    assert sorted(await ids(store)) == ["nothing", "s"]


async def test_whoever_asks_goes_round_the_lanes_and_ends(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    later = "2027-01-01T00:00:00.000Z"
    for n in range(20):
        await session(store, f"later-{n}", batch, tenant=f"t{n:02}", wake_at=later)
    await session(store, "now", batch, tenant="t15")
    for _ in range(3):
        assert await ids(store, 3) == ["now"]
    assert len(await ids(store, 30, later)) == 21
