"""Every log store keeps these promises: work that nobody drives is found, the tenants and agents in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.ports.log_store import LogStore
from lousho_cli.stores import work
from lousho_cli.stores.postgres import pending

NOW = "2026-06-01T00:00:00.000Z"
SOON = "2026-06-01T00:00:01.000Z"


@pytest.fixture(autouse=True)
def asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked is looked for anew, and what was given to one may be given again at once."""
    monkeypatch.setattr(work, "_LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(work, "_SHARE", 0)
    monkeypatch.setattr(pending, "OFFER_MS", -1000)


async def session(store: LogStore, log_id: str, *, ended: bool = False, day: int = 1, **options: Any) -> Any:
    """A session whose run is open, or has ended, as a host leaves it."""
    claim = await store.claim(log_id, "here")
    at = f"2026-01-{day:02}T00:00:00.000Z"
    created = r.Created(options.get("agent", "a"), tenant=options.get("tenant"))
    begins = (r.Claimed("here"), created, r.InputReceived("i", (user("hi"),)), r.InputApplied("i"), r.RunStarted("i"))
    ends = (r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed")) if ended else (r.Mark(1),)
    batches = [r.Batch(1, claim.epoch, at, begins), r.Batch(2, claim.epoch, at, (r.Turn(Message("assistant", "x")), *ends))]
    await store.append(claim, batches)
    if options.get("saved", True):
        await store.save_head(claim, msgspec.structs.replace(head_of(fold(batches)), lead=options.get("lead")))
    if options.get("release", True):
        await store.release(claim, options.get("wake_at"))
    return claim


async def ids(store: LogStore, limit: int = 100, now: str = NOW, without: tuple[str, ...] = ()) -> list[str]:
    return [head.id for head in await store.pending(limit, now, without)]


async def test_only_what_has_work_and_no_owner_is_pending(store: LogStore) -> None:
    assert await ids(store) == []
    await session(store, "open")
    await session(store, "ended", ended=True)
    await session(store, "unsaved", saved=False)
    await session(store, "agent", lead="open")
    held = await session(store, "driven", release=False)
    assert sorted(await ids(store)) == ["open", "unsaved"]
    await store.release(held)
    assert sorted(await ids(store)) == ["driven", "open", "unsaved"]


async def test_a_post_and_a_wake_that_is_due_are_work(store: LogStore) -> None:
    await session(store, "ended", ended=True)
    await session(store, "later", wake_at=SOON)
    assert await ids(store) == []
    assert await ids(store, now=SOON) == ["later"]
    await store.post("ended", Post("p", "input", NOW, body={}))
    assert await ids(store) == ["ended"]


async def test_no_more_is_given_than_was_asked_for_and_none_that_is_not_wanted(store: LogStore) -> None:
    for n in range(5):
        await session(store, f"s{n}", day=n + 1)
    assert await ids(store, 0) == []
    assert await ids(store, 2) == ["s0", "s1"]
    assert await ids(store, 2, without=("s0", "s2")) == ["s1", "s3"]
    assert await ids(store, without=tuple(f"s{n}" for n in range(5))) == []


async def test_sessions_of_agents_that_are_not_wanted_are_not_given(store: LogStore) -> None:
    odd = 'a","b'
    for n, (agent, tenant) in enumerate([("a", None), ("a", "t"), ("b", "a"), ('"a"', "a"), (odd, "t")]):
        await session(store, f"s{n}", agent=agent, tenant=tenant)
    given = [head.id for head in await store.pending(100, NOW, (), ("a", odd))]
    assert sorted(given) == ["s2", "s3"]
    assert sorted(head.id for head in await store.pending(100, NOW, ("s2",), ("b", '"a"'))) == ["s0", "s1", "s4"]


async def test_tenants_and_agents_take_turns_and_the_longest_untouched_comes_first(store: LogStore) -> None:
    for n in range(4):
        await session(store, f"big-{n}", tenant="big", day=4 - n)
    await session(store, "small", tenant="small", day=20)
    await session(store, "other", tenant="big", agent="b", day=20)
    first = await ids(store, 4)
    assert {"small", "other", "big-3"} == set(first[:3])
    assert first[3] == "big-2"


async def test_one_at_a_time_each_lane_has_its_turn(store: LogStore) -> None:
    for n in range(8):
        await session(store, f"a-{n}", tenant="a", day=n + 1)
    await session(store, "b-0", tenant="b", day=20)
    await session(store, "c-0", tenant="c", day=21)
    given: list[str] = []
    for _ in range(6):
        given += await ids(store, 1)
        await store.delete(given[-1])
    assert set(given[:3]) == {"a-0", "b-0", "c-0"}
    assert given[3:] == ["a-1", "a-2", "a-3"]


async def test_what_was_given_and_not_taken_is_given_again(store: LogStore) -> None:
    await session(store, "s")
    assert await ids(store) == ["s"]
    assert await ids(store) == ["s"]


async def test_who_waits_for_work_comes_back_when_the_time_is_up_or_sooner(store: LogStore) -> None:
    began = time.monotonic()
    await store.wait_for_work(50)
    assert time.monotonic() - began < 10


async def test_who_waits_for_work_sees_a_post_in_time(store: LogStore) -> None:
    await session(store, "ended", ended=True)
    assert await ids(store) == []
    waiting = asyncio.ensure_future(store.wait_for_work(5_000))
    await store.post("ended", Post("p", "input", NOW, body={}))
    await waiting
    assert await ids(store) == ["ended"]


async def test_two_processes_are_given_what_the_other_released(shared: tuple[LogStore, Callable[[], Any]]) -> None:
    store, start = shared
    await session(store, "s")
    other = start()
    other.ask("claim", log="s")
    assert await ids(store) == []
    other.ask("release")
    assert await ids(store) == ["s"]
