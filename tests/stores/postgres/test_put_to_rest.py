"""What was left for a session just before it was put to rest, or for an owner that died then, is found by who looks for work; and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.stores.postgres import pending, posts
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
NOW = "2026-06-01T00:00:00.000Z"
POST = Post("in-2", "input", NOW, body=[])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "OFFER_MS", -1000)
    monkeypatch.setattr(pending, "TIDY_EVERY_S", 0.0)


@pytest.fixture
def console(url: str) -> Iterator[Any]:
    """Somebody with a transaction that is open."""
    place, _, schema = url.partition("?schema=")
    with psycopg.connect(place, options=f"-c search_path={schema}") as connection:
        yield connection


async def ended(store: PostgresStore, batch: MakeBatch) -> Any:
    """A claim on a session whose run has ended, and what tells of it in a list."""
    claim = await store.claim("trip", "here", ttl_ms=60_000)
    begins = (r.Claimed("here"), r.Created("a"), r.InputReceived("i", (user("hi"),)), r.InputApplied("i"), r.RunStarted("i"))
    ends = (r.Turn(Message("assistant", "x")), r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed"))
    batches = [batch(1, claim.epoch, *begins), batch(2, claim.epoch, *ends)]
    await store.append(claim, batches)
    return claim, head_of(fold(batches))


async def found(store: PostgresStore) -> list[str]:
    return [head.id for head in await store.pending(9, NOW)]


async def test_what_is_left_for_an_owner_that_died_at_rest(store: PostgresStore, url: str, opened: Any, batch: MakeBatch) -> None:
    claim, head = await ended(store, batch)
    await store.save_head(claim, head)
    store._parts.presence.close(remove=False)  # as a kill does
    store._keeper.stop()
    other = opened(url)
    await other.release(await other.claim("else", "here"))  # whoever comes first tidies up what the dead left
    await other.post("trip", POST)
    assert await found(other) == ["trip"]


async def test_what_was_left_before_its_owner_died_at_rest(store: PostgresStore, url: str, opened: Any, batch: MakeBatch) -> None:
    claim, head = await ended(store, batch)
    other = opened(url)
    await other.post("trip", POST)
    await store.save_head(claim, head)
    store._parts.presence.close(remove=False)
    store._keeper.stop()
    assert await found(other) == ["trip"]


async def test_what_was_left_before_it_was_put_to_rest(store: PostgresStore, batch: MakeBatch) -> None:
    claim, head = await ended(store, batch)
    await store.post("trip", POST)
    await store.save_head(claim, head)
    await store.release(claim)
    assert await found(store) == ["trip"]


async def blocked(console: Any) -> None:
    """Returns once somebody waits for what the console has locked."""
    async with asyncio.timeout(20):
        while not console.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND database IS NULL").fetchall():
            await asyncio.sleep(0.01)


def leave(console: Any) -> None:
    """Leaves an input, as a post does, and is not done yet."""
    console.execute("UPDATE logs SET due_ms = 0 WHERE id = 'trip'")
    console.execute('INSERT INTO posts (no, id, post) SELECT no, \'in-2\', \'{"id":"in-2","kind":"input","at":""}\' FROM logs')


async def test_what_is_left_in_the_moment_in_which_it_is_put_to_rest(store: PostgresStore, batch: MakeBatch, console: Any) -> None:
    claim, head = await ended(store, batch)
    leave(console)
    saving = asyncio.create_task(store.save_head(claim, head))
    await blocked(console)
    console.commit()
    await saving
    await store.release(claim)
    assert await found(store) == ["trip"]


async def test_what_is_left_in_the_moment_in_which_it_is_found_to_have_no_work(
    store: PostgresStore, batch: MakeBatch, console: Any, sql: Any
) -> None:
    claim, head = await ended(store, batch)
    await store.save_head(claim, head)
    await store.release(claim)
    ((no,),) = sql("UPDATE {s}.logs SET due_ms = 0 RETURNING no")
    leave(console)
    rest = asyncio.create_task(store.database.run(lambda hand: hand.call("rest_free", no, 0, head.seq, None)))
    await blocked(console)
    console.commit()
    await rest
    assert await found(store) == ["trip"]


async def test_two_who_remove_the_same_in_another_order_do_not_stand_in_each_others_way(
    store: PostgresStore, console: Any, sql: Any
) -> None:
    for post_id in "ab":
        await store.post("trip", Post(post_id, "abort", NOW))
    console.execute("SELECT 1 FROM posts WHERE id = 'a' FOR UPDATE")
    tried: list[str] = []

    def removing(order: str, hand: Hand) -> None:
        tried.append(order)
        posts.discard(hand, "trip", list(order))

    removals = []
    for order in ("ab", "ba"):
        removals.append(asyncio.create_task(store.database.run(partial(removing, order))))
        while len(sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{s}%discard%'")) < len(removals):
            await asyncio.sleep(0.01)
    console.commit()
    await asyncio.gather(*removals)
    assert (await store.inbox("trip"), tried) == ((), ["ab", "ba"]), "one that ended in a deadlock is begun again"
