"""Of many who are told of work a few ask for it, so that the others leave the server alone."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from lousho_cli.stores.postgres import pending
from lousho_cli.stores.postgres.hand import NOW_MS
from lousho_cli.stores.postgres.store import PostgresStore

NOW = "2026-06-01T00:00:00.000Z"
ENTER = "INSERT INTO {s}.owners (token, pid, place, renewed_ms) SELECT 'o' || g, 1, 'x', %s FROM generate_series(1, %s) g"


async def share(store: PostgresStore) -> float:
    """How often this store is among those who ask, once it knows how many there are."""
    await store.pending(1, NOW)
    return sum(store._pending.is_drawn() for _ in range(2000)) / 2000


@pytest.mark.parametrize(("others", "least", "most"), [(0, 1.0, 1.0), (4, 1.0, 1.0), (8, 0.4, 0.6), (400, 0.0, 0.03)])
async def test_as_many_ask_whatever_the_number_of_hosts(store: PostgresStore, sql: Any, others: int, least: float, most: float) -> None:
    await store.heartbeat("-", 1000)  # so that there are tables
    sql(ENTER.replace("%s", NOW_MS, 1), others)
    assert least <= await share(store) <= most


async def test_who_drove_nothing_for_long_is_not_counted(store: PostgresStore, sql: Any) -> None:
    await store.heartbeat("-", 1000)
    sql(ENTER, 1, 400)
    assert await share(store) == 1.0


async def test_who_is_not_drawn_waits_on_for_the_next_word(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[bool] = []
    monkeypatch.setattr(pending.Pending, "is_drawn", lambda self: draws.append(len(draws) == 2) or draws[-1])
    waiting = asyncio.create_task(store.wait_for_work(60_000))
    for told in range(1, 4):
        async with asyncio.timeout(20):
            while not store._lookout._for_any:
                await asyncio.sleep(0)
            store._lookout.tell("s")
            while len(draws) < told:
                await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(draws) == told, "one word, one draw"
    assert await waiting


@pytest.mark.parametrize(
    ("others", "ago_s", "tidies"), [(0, 0.5, False), (0, 1.5, True), (60, 1.5, False), (60, 3.5, True), (900, 5.5, True)]
)
async def test_the_more_hosts_the_seldomer_each_frees_what_dead_owners_hold(
    store: PostgresStore, sql: Any, others: int, ago_s: float, tidies: bool
) -> None:
    await store.heartbeat("-", 1000)
    sql(ENTER.replace("%s", NOW_MS, 1), others)
    await store.pending(1, NOW)
    before = store._pending._tidied_at = time.monotonic() - ago_s
    await store.pending(1, NOW)
    assert (store._pending._tidied_at > before) is tidies


async def test_what_an_owner_holds_is_found_by_the_index(store: PostgresStore, sql: Any) -> None:
    """Of another collation than the owner's own row it would not be, and each owner would be looked for in all that is driven."""
    await store.heartbeat("-", 1000)
    columns = "SELECT DISTINCT collation_name FROM information_schema.columns WHERE table_schema = '{s}'"
    assert sql(f"{columns} AND (table_name, column_name) IN (('logs', 'owner'), ('owners', 'token'))") == [("C",)]
