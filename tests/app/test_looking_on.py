"""Looking at the sessions of a store again and again: only what changed is read, and what is wrong is said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.looking_on import Looker, check_still_there, find_point
from lousho_cli.domain import records as r
from lousho_cli.errors import NotFoundError, StorageError
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore
from tests.tui.sample import at, begins, ends, turn, write


@pytest.fixture(params=["file", "sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kinds = {"file": lambda: FileStore(tmp_path), "sqlite": lambda: SqliteStore(tmp_path / "lousho.db"), "memory": MemoryStore}
    return kinds[request.param]()


async def ids(looker: Looker, store: Any, **options: Any) -> list[str]:
    return [one.id for one in (await looker.look(store, **options)).listing.sessions]


async def test_new_changed_and_deleted_sessions_are_seen(store: Any) -> None:
    looker = Looker()
    assert await ids(looker, store) == []
    await write(store, "one", [begins("trip", "Go", minute=1)])
    await write(store, "two", [begins("trip", "Go", minute=2)])
    assert await ids(looker, store) == ["two", "one"]
    await write(store, "one", [(at(3), turn("Let me see.", 1)), (at(4), ends("Done.", 2))])
    found = await looker.look(store)
    assert [(one.id, one.status, one.step) for one in found.listing.sessions] == [("one", "finished", 2), ("two", "in-progress", 0)]
    await store.delete("two")
    assert await ids(looker, store) == ["one"]


async def test_who_drives_a_session_is_told_while_it_does(store: Any) -> None:
    looker = Looker()
    await write(store, "one", [begins("trip", "Go")])
    assert (await looker.look(store)).driven.by == {}
    claim = await store.claim("one", "desk")
    assert "desk" in (await looker.look(store)).driven.by["one"]
    await store.release(claim)
    assert (await looker.look(store)).driven.by == {}


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_only_what_changed_is_read_and_a_page_at_a_time(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path) if kind == "file" else SqliteStore(tmp_path / "lousho.db")
    for number in range(6):
        await write(store, f"s{number}", [begins("trip", "Go", minute=number)])
    asked: list[str] = []
    head = store.head

    async def counted(session_id: str) -> Any:
        asked.append(session_id)
        return await head(session_id)

    monkeypatch.setattr(store, "head", counted)
    looker = Looker()
    first = await looker.look(store, at_most=4)
    assert (len(first.listing.sessions), first.left, len(asked)) == (4, 2, 4)
    assert (await looker.look(store)).left == 0
    assert await ids(looker, store) == ["s5", "s4", "s3", "s2", "s1", "s0"]
    assert len(asked) == 6
    await write(store, "s0", [(at(50), [r.InputSettled("in-1", "aborted")])])
    assert (await ids(looker, store))[0] == "s0"
    assert asked[6:] == ["s0"]


async def test_each_unfinished_session_is_asked_for_its_owner_in_its_turn(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousho_cli.app.drivers._NEWEST", 2)
    monkeypatch.setattr("lousho_cli.app.drivers._IN_TURN", 2)
    for number in range(7):
        await write(store, f"s{number}", [begins("trip", "Go", minute=number)])
    claim = await store.claim("s0", "desk")
    looker = Looker()
    first = (await looker.look(store)).driven
    assert (first.by, first.unasked) == ({}, {"s0", "s1", "s2"})  # the truth: nobody knows yet
    assert (await looker.look(store)).driven.unasked == {"s0"}
    last = (await looker.look(store)).driven
    assert (list(last.by), last.unasked) == (["s0"], frozenset())
    await store.release(claim)
    for _ in range(4):
        last = (await looker.look(store)).driven
    assert last.by == {}
    changed = await store.claim("s1", "table")
    await store.append(changed, [r.Batch((await store.read("s1")).head + 1, changed.epoch, at(0, 30), [r.Claimed("table")])])
    assert list((await looker.look(store)).driven.by) == ["s1"]  # who writes is asked at once


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_a_glance_finds_the_newest_of_those_that_began_last_and_counts_the_others(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lousho_cli.app.looking_on._GLANCED", 4)
    store = FileStore(tmp_path) if kind == "file" else SqliteStore(tmp_path / "lousho.db")
    for number in range(6):
        await write(store, f"s{number}", [begins("trip", "Go", minute=number)])
    looker = Looker()
    found = await looker.glance(store, 2)
    assert len(found.listing.sessions) == 2
    assert found.left == 4
    assert await ids(looker, store) == ["s5", "s4", "s3", "s2", "s1", "s0"]
    few = await Looker().glance(store, 100)
    assert (len(few.listing.sessions), few.left) == (4, 2)
    assert (await Looker().glance(None, 5)).left == 0


async def test_a_slow_disk_gives_what_it_has_after_a_while_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousho_cli.app.looking_on._SECONDS", 0)
    store = FileStore(tmp_path)
    for number in range(3):
        await write(store, f"s{number}", [begins("trip", "Go", minute=number)])
        os.utime(tmp_path / "sessions" / f"s{number}" / "log.jsonl", (number, number))
    looker = Looker()
    seen = [(await looker.look(store)) for _ in range(4)]
    assert [([one.id for one in now.listing.sessions], now.left) for now in seen] == [
        (["s2"], 2),
        (["s2", "s1"], 1),
        (["s2", "s1", "s0"], 0),
        (["s2", "s1", "s0"], 0),
    ]


async def test_a_damaged_session_is_named_until_it_is_mended(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    looker = Looker()
    await write(store, "one", [begins("trip", "Go")])
    log = tmp_path / "sessions" / "one" / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"nothing of ours\n")
    found = await looker.look(store)
    assert [session_id for session_id, _ in found.listing.damaged] == ["one"]
    assert found.listing.sessions == ()
    log.write_bytes(whole)
    found = await looker.look(store)
    assert found.listing.damaged == ()
    assert [one.id for one in found.listing.sessions] == ["one"]


async def test_a_store_that_is_gone_is_not_an_empty_one(tmp_path: Path) -> None:
    await write(FileStore(tmp_path / "store"), "one", [begins("trip", "Go")])
    there = check_still_there(str(tmp_path / "store"))
    assert check_still_there(str(tmp_path / "store")) == there is not None
    (tmp_path / "store").rename(tmp_path / "old")
    await write(FileStore(tmp_path / "store"), "one", [begins("trip", "Go")])
    assert check_still_there(str(tmp_path / "store")) != there  # another one lies there now
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(StorageError, match="gone"):
        check_still_there(str(tmp_path / "store"))


async def test_an_address_is_found_by_the_beginning_of_its_session(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await write(store, "voyage", [begins("trip", "Go"), (at(1), turn("Let me see.", 1))])
    assert await find_point(store, "voy@1") == "voyage@1"
    assert await find_point(store, "voyage") == "voyage"
    with pytest.raises(NotFoundError):
        await find_point(store, "voyage@7")
    with pytest.raises(NotFoundError):
        await find_point(None, "voyage")
