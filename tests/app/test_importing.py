"""Importing into a store: what else may be going on there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lousho_cli.app.import_kinds import kind_of
from lousho_cli.app.importing import import_paths
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore

FOLDER = Path(__file__).parents[1] / "replay" / "originals-1" / "folder"


async def test_a_session_that_somebody_drives_is_left_and_the_others_are_there() -> None:
    store = MemoryStore()
    claim = await store.claim("trip", "elsewhere")
    done = await import_paths(store, [FOLDER], dry_run=False)
    results = {one.session: one.result for one in done.sessions}
    assert results.pop("trip") == "skipped"
    assert set(results.values()) == {"imported"}
    await store.release(claim)
    again = await import_paths(store, [FOLDER], dry_run=False)
    assert {one.session for one in again.sessions if one.result == "imported"} == {"trip"}


async def test_what_is_imported_is_the_same_on_every_store(tmp_path: Path) -> None:
    stores = [MemoryStore(), FileStore(tmp_path / "s"), SqliteStore(tmp_path / "s.db")]
    for store in stores:
        await import_paths(store, [FOLDER], dry_run=False)
    for name in ("trip", "booking", "evening", "kept", "photo"):
        memory, file, database = [await read_session(store, name) for store in stores]
        assert memory == file == database


async def test_a_store_without_history_gets_the_newest_checkpoint_alone() -> None:
    store = MemoryStore(history_limit=0)
    done = await import_paths(store, [FOLDER], dry_run=False)
    assert {one.checkpoints for one in done.sessions if one.session != "kept"} == {1}
    session = await read_session(store, "trip")
    assert (len(session.marks), session.step, len(session.messages)) == (0, 1, 8)
    again = await import_paths(store, [FOLDER], dry_run=False)
    assert {one.session: one.result for one in again.sessions if one.result != "unchanged"} == {"kept": "skipped"}


async def test_the_log_of_a_long_ring_grows_with_what_its_checkpoints_hold_and_no_more() -> None:
    import msgspec

    store = MemoryStore()
    await import_paths(store, [FOLDER / "checkpoint-history" / "trip.json"], dry_run=False)
    last = (await store.read("trip")).batches[-1]
    state = msgspec.to_builtins(last)["records"][0]["state"]
    assert len(state["marks"]) == 4
    assert all("own" not in mark for mark in state["marks"]), "each mark is a length of the one transcript"


async def test_two_copies_of_one_session_are_one(tmp_path: Path) -> None:
    record = FOLDER / "checkpoints" / "photo.json"
    copy = tmp_path / "backup.json"
    copy.write_text(record.read_text())
    done = await import_paths(MemoryStore(), [record, copy], dry_run=False)
    assert [(one.session, one.result) for one in done.sessions] == [("photo", "imported"), ("photo", "unchanged")]


async def test_nothing_is_written_where_one_path_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    store = MemoryStore()
    with pytest.raises(ConfigurationError, match="nothing that can be imported"):
        await import_paths(store, [FOLDER, tmp_path / "x.txt"], dry_run=False)
    assert (await store.heads()).heads == ()


async def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    for name in ("checkpoints", "approvals"):
        (tmp_path / name).mkdir()
    (tmp_path / "checkpoints" / "good.json").write_text(json.dumps({"sessionId": "good", "messages": [], "stepIndex": 0}))
    (tmp_path / "checkpoints" / "gone.json").symlink_to(tmp_path / "nowhere.json")
    deep = "[" * 100_000
    (tmp_path / "approvals" / "deep.json").write_text(deep)
    done = await import_paths(MemoryStore(), [tmp_path], dry_run=False)
    assert [one.session for one in done.sessions] == ["good"]
    assert [Path(one.source).name for one in done.failed] == ["deep.json"], "a link to nothing is no file"


def test_a_record_of_something_else_is_no_original(tmp_path: Path) -> None:
    for text in ("{}", "[]", "3", '{"messages": []}', '[{"step": 1}]'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ConfigurationError):
            kind_of(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(StorageError, match="it is no JSON"):
        kind_of(tmp_path / "x.json")
