"""Work is found beside what nobody can go on with, whatever the clocks of the hosts say, and soon after it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post, WaitsFor
from lousho_cli.domain.messages import Message, user
from lousho_cli.stores.postgres import pending
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
NOW = "2026-06-01T00:00:00.000Z"


async def left(store: PostgresStore, log_id: str, *records: r.Record, at: str = "2026-01-01T00:00:00.000Z", **said: Any) -> None:
    """A session with an open run, saved as a host does at rest, and given back. ``said`` is changed in its head."""
    claim = await store.claim(log_id, "here")
    begin = (r.Claimed("here"), r.Created("a"), r.InputReceived("i", (user("hi"),)), r.InputApplied("i"), r.RunStarted("i"))
    batches = [r.Batch(1, claim.epoch, at, (*begin, *records)), r.Batch(2, claim.epoch, at, (r.Turn(Message("assistant", "x")), r.Mark(1)))]
    await store.append(claim, batches)
    await store.save_head(claim, msgspec.structs.replace(head_of(fold(batches)), **said))
    await store.release(claim)


async def ids(store: PostgresStore, limit: int = 4, without: tuple[str, ...] = ()) -> list[str]:
    return [head.id for head in await store.pending(limit, NOW, without)]


async def test_what_a_newer_version_wrote_hides_nothing_behind_it(store: PostgresStore) -> None:
    for n in range(6):
        await left(store, f"newer-{n}", format=99)
    await left(store, "mine", at="2026-02-01T00:00:00.000Z")
    assert await ids(store, 2) == ["mine"]


async def test_a_session_of_a_host_whose_clock_is_ahead_is_found_all_the_same(store: PostgresStore) -> None:
    await left(store, "ahead", at="2037-01-01T00:00:00.000Z")
    assert await ids(store) == ["ahead"]


async def test_who_is_not_drawn_leaves_it_at_that(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[int] = []
    monkeypatch.setattr(pending.Pending, "is_drawn", lambda self: bool(draws.append(1)))
    await store.heartbeat("-", 1000)
    await store.pending(1, NOW)
    store._lookout.tell("s")
    assert not await store.wait_for_work(100)
    assert len(draws) == 1


async def test_a_lead_that_was_put_off_is_given_once_something_comes_for_it(store: PostgresStore) -> None:
    await left(store, "agent", lead="lead")
    held = await store.claim("agent", "there")
    await left(store, "lead", status="finished", outcome="completed", agents={"x": "agent"})
    assert await ids(store) == []
    await store.post("lead", Post("in-2", "input", NOW, body=[]))
    assert await ids(store) == ["lead"]
    await store.release(held)


async def test_a_background_agent_that_is_damaged_holds_up_nobody(store: PostgresStore, sql: Any) -> None:
    await left(store, "agent", lead="lead")
    sql("UPDATE {s}.records SET line = 'x' WHERE seq = 1")
    sql("DELETE FROM {s}.heads")
    await left(store, "lead", status="finished", outcome="completed", agents={"x": "agent"})
    await left(store, "other")
    assert await ids(store) == ["other"]


async def test_thousands_of_sessions_that_only_others_can_go_on_with_are_left_to_them(store: PostgresStore, sql: Any) -> None:
    await left(store, "theirs")
    many = """SELECT 'theirs-' || g, 1, 2, 1, due_ms, '["t' || g % 400 || '","a"]' FROM {s}.logs, generate_series(1, 4000) g"""
    sql(f"INSERT INTO {{s}}.logs (id, epoch, head, head_epoch, due_ms, lane) {many}")
    await left(store, "mine", agent="z")
    given = await store.pending(4, NOW, (), ("a",))
    assert [head.id for head in given] == ["mine"]
    assert sql("SELECT count(*) FROM {s}.logs WHERE offered_ms > 0") == [(1,)]


async def test_what_is_left_for_a_background_agent_that_waits_is_the_work_of_its_lead(store: PostgresStore) -> None:
    await left(store, "agent", lead="lead", status="awaiting-approval", waits_for=WaitsFor("ap-1", "dig", {}, "d", NOW))
    await left(store, "lead", status="finished", outcome="completed", agents={"x": "agent"})
    assert await ids(store) == []
    await store.post("agent", Post("p", "answer", NOW, body={}))
    assert await ids(store) == ["lead"]


WAITS = {"status": "awaiting-approval", "waits_for": WaitsFor("ap-1", "dig", {}, "d", NOW)}
ENDED = {"status": "finished", "outcome": "completed"}
DUE = "SELECT id FROM {s}.logs WHERE due_ms IS NOT NULL"


async def test_leads_whose_agents_wait_are_looked_at_once_and_hide_nothing_of_their_agent(store: PostgresStore, sql: Any) -> None:
    for n in range(9):
        await left(store, f"agent-{n}", lead=f"lead-{n}", **WAITS)
        await left(store, f"lead-{n}", agents={"x": f"agent-{n}"}, **ENDED)
    await left(store, "mine", at="2026-02-01T00:00:00.000Z")
    assert await ids(store, 2) == ["mine"]
    assert sql(DUE) == [("mine",)]


async def test_an_agent_whose_host_died_is_the_work_of_its_lead_though_that_was_put_to_rest(store: PostgresStore, sql: Any) -> None:
    await left(store, "agent", lead="middle")
    held = await store.claim("agent", "there")
    await left(store, "middle", lead="lead", agents={"y": "agent"}, **ENDED)
    await left(store, "lead", agents={"x": "middle"}, **ENDED)
    assert await ids(store) == []
    assert sql(DUE) == [("agent",)]
    await store.release(held)
    assert await ids(store) == ["lead"]


async def test_an_agent_that_ended_is_told_of_by_who_drove_it_or_else_makes_its_lead_due(store: PostgresStore, sql: Any) -> None:
    await left(store, "agent", lead="lead", **WAITS)
    await left(store, "lead", agents={"x": "agent"}, **ENDED)
    assert await ids(store) == []
    await left(store, "other", lead="told", **ENDED)
    await left(store, "told", **ENDED)
    assert await ids(store) == []
    assert sql(DUE) == [], "its lead knows"
    claim = await store.claim("agent", "here")
    end = r.Batch(3, claim.epoch, NOW, (r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed")))
    await store.append(claim, [end])
    await store.save_head(
        claim, msgspec.structs.replace(await store.head("agent"), waits_for=None, lead="lead", seq=3, updated_at=NOW, **ENDED)
    )
    await store.release(claim)
    assert await ids(store) == [], "a moment ago"
    assert sql(DUE) == [("agent",)]
    sql("UPDATE {s}.logs SET offered_ms = 0")
    later = "2026-06-01T00:00:10.000Z"
    assert [head.id for head in await store.pending(4, later)] == ["lead"]
    assert sql(DUE) == [("lead",)]


async def test_an_agent_that_ended_while_its_lead_was_just_taken_is_told_of_by_the_next_who_takes_it(store: PostgresStore) -> None:
    await left(store, "agent", lead="lead", **WAITS)
    await left(store, "lead", agents={"x": "agent"}, **ENDED)
    assert await ids(store) == []
    held = await store.claim("lead", "there")
    claim = await store.claim("agent", "here")
    await store.append(claim, [r.Batch(3, claim.epoch, NOW, (r.InputSettled("i", "completed"),))])
    head, long_ago = await store.head("agent"), "2026-01-01T00:00:00.000Z"
    await store.save_head(claim, msgspec.structs.replace(head, waits_for=None, lead="lead", seq=3, updated_at=long_ago, **ENDED))
    await store.release(claim)
    assert await ids(store) == []
    await store.release(held)  # it was killed before it wrote anything
    assert await ids(store) == ["lead"]


async def test_a_lead_that_is_to_wake_later_is_due_now_for_its_agent(store: PostgresStore, sql: Any) -> None:
    await left(store, "agent", lead="lead", **WAITS)
    await left(store, "lead", agents={"x": "agent"}, wake="2037-01-01T00:00:00.000Z", **ENDED)
    assert await ids(store) == []
    await store.post("agent", Post("p", "answer", NOW, body={}))
    assert await ids(store) == ["lead"]


async def test_a_lead_whose_agent_never_began_is_looked_at_again(store: PostgresStore, sql: Any) -> None:
    held = await store.claim("agent", "there")
    await left(store, "lead", agents={"x": "agent"}, **ENDED)
    assert await ids(store) == []
    assert sql(DUE) == [("lead",)]
    await store.release(held)
    sql("UPDATE {s}.logs SET offered_ms = 0")
    assert await ids(store) == ["lead"]


async def test_a_session_that_begins_anew_shares_its_turns_with_the_agent_it_has_now(store: PostgresStore) -> None:
    await left(store, "s")
    await store.delete("s")
    claim = await store.claim("s", "here")
    begins = (r.Claimed("here"), r.Created("z"), r.InputReceived("i", (user("hi"),)), r.InputApplied("i"), r.RunStarted("i"))
    await store.append(claim, [r.Batch(1, claim.epoch, NOW, begins)])
    await store.release(claim)  # it never rested
    assert [head.id for head in await store.pending(4, NOW, (), ("a",))] == ["s"]


async def test_what_was_given_to_one_that_goes_without_it_is_given_to_the_next(
    store: PostgresStore, url: str, opened: Callable[..., PostgresStore]
) -> None:
    await left(store, "s")
    first = opened(url)
    assert await ids(first) == ["s"]
    assert await ids(store) == []
    first.close()
    assert await ids(store) == ["s"]
