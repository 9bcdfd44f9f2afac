"""What a file is before it is opened, and what it is behind that."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.errors import ConfigurationError, DamagedLogError, LogVersionError, NotAStoreError, StorageError
from lousho_cli.ports.log_store import LogRead
from lousho_cli.stores.sqlite import schema
from lousho_cli.stores.sqlite.opening import LOOKED_THROUGH_BYTES
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


async def fill(store: SqliteStore, batch: MakeBatch, name: str = "trip") -> None:
    claim = await store.claim(name, "here")
    await store.append(claim, [batch(1), batch(2)])
    await store.release(claim)


async def test_reading_makes_nothing(store: SqliteStore, place: Path) -> None:
    assert (await store.heads()).heads == ()
    assert await store.read("trip") == LogRead()
    assert await store.watch("trip", 0, 10) is False
    assert await store.owner("trip") is None
    await store.follow("trip")
    await store.discard("trip", ["p"])
    assert await store.delete("trip") is False
    assert list(place.parent.iterdir()) == []
    place.touch()  # one that another process is just making
    assert (await store.heads()).heads == ()
    assert await store.read("trip") == LogRead()
    assert place.stat().st_size == 0


async def test_a_new_file_is_its_owners_alone_and_in_the_journal_mode_that_is_safe(tmp_path: Path, batch: MakeBatch) -> None:
    place = tmp_path / "deep/er/lousho.db"
    store = SqliteStore(place)
    before = os.umask(0)
    try:
        await fill(store, batch)
    finally:
        os.umask(before)
    for file in place.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    store.close()
    with sqlite3.connect(place) as connection:
        ((mode,),) = connection.execute("PRAGMA journal_mode")
        ((version,),) = connection.execute("PRAGMA user_version")
    connection.close()
    assert (mode, version) == ("wal", schema.VERSION)
    assert [file.name for file in place.parent.iterdir()] == ["lousho.db"], "what is beside it goes when it is closed"


OPENS = """
import asyncio, sys
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.stores.sqlite.store import SqliteStore

async def main(path, name):
    store = SqliteStore(path)
    print("ready", flush=True)
    sys.stdin.readline()
    claim = await store.claim(name, "here")
    await store.append(claim, [r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("here"), r.Created(name)))])
    await store.release(claim)
    print("done", len((await store.heads()).heads), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_case_164_ten_processes_open_a_file_that_is_not_there(place: Path, script: Any) -> None:
    processes = [script(OPENS, place, f"s{number}") for number in range(10)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert re.fullmatch(r"done ([1-9]|10)\n", out)
    store = SqliteStore(place)
    assert sorted(head.agent for head in (await store.heads()).heads) == sorted(f"s{number}" for number in range(10))
    assert store.database.query("PRAGMA integrity_check") == [("ok",)]
    store.close()


async def test_a_file_of_a_newer_version_is_refused(store: SqliteStore, place: Path, batch: MakeBatch) -> None:
    await fill(store, batch)
    store.close()
    with sqlite3.connect(place) as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    before = place.read_bytes()
    newer = SqliteStore(place)
    for call in (newer.heads, lambda: newer.read("trip"), lambda: newer.claim("trip", "here"), lambda: newer.delete("trip")):
        with pytest.raises(LogVersionError) as caught:
            await call()
        assert str(place) in caught.value.detail
        assert "Update lousho" in caught.value.hint
    newer.close()
    assert place.read_bytes() == before


async def test_de_090_a_file_of_an_older_version_gains_what_it_lacks(place: Path, batch: MakeBatch) -> None:
    """Such as the table of the history."""
    connection = sqlite3.connect(place)
    for statement in schema.MIGRATIONS[0]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO logs (id, epoch) VALUES ('trip', 3), ('old', 1)")
    good = encode_line(batch(1, 1, r.Mark(5)))[:-1].decode()
    rows = [(2 << 32 | 1, good), (2 << 32 | 2, good.replace("epoch", "apoch")), (2 << 32 | 3, "nothing")]
    connection.executemany("INSERT INTO batches VALUES (?, 1, 1, ?)", rows)
    connection.commit()
    connection.close()
    store = SqliteStore(place)
    old = await store.read("old")  # reading brings it up to date
    assert ([one.records for one in old.batches], [(hole.first, hole.last) for hole in old.holes]) == ([(r.Mark(5),)], [(2, 3)])
    assert store.database.query("SELECT DISTINCT session_id, step FROM checkpoint_history") == [("old", 5)]
    claim = await store.claim("trip", "here")
    assert claim.epoch == 4
    await store.append(claim, [batch(1, 4, r.Mark(1))])
    assert store.database.query("SELECT session_id, step FROM checkpoint_history WHERE session_id = 'trip'") == [("trip", 1)]
    store.close()


def _of_version_three(place: Path, *rows: tuple[int, str]) -> None:
    connection = sqlite3.connect(place)
    for statement in [statement for statements in schema.MIGRATIONS[:3] for statement in statements]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 3")
    connection.execute("INSERT INTO logs (no, id, epoch) VALUES (1, 'one', 1), (2, 'two', 1)")
    connection.execute("INSERT INTO hosts VALUES ('h', ?)", (time.time_ns() // 1_000_000 + 600_000,))
    connection.executemany("INSERT INTO batches VALUES (?, 1, 1, ?)", rows)
    connection.commit()
    connection.close()


async def test_rows_that_lay_by_their_keys_are_read_and_written_as_those_that_lie_as_they_came(place: Path, batch: MakeBatch) -> None:
    lines = {seq: encode_line(batch(seq, 1, r.Mark(seq)))[:-1].decode() for seq in (1, 2)}
    _of_version_three(place, *((no << 32 | seq, lines[seq]) for no in (2, 1) for seq in (1, 2)))
    store = SqliteStore(place)
    for name in ("one", "two"):
        claim = await store.claim(name, "here")
        await store.append(claim, [batch(3, 2, r.Mark(3))])
        await store.release(claim)
        assert [one.seq for one in (await store.read(name)).batches] == [1, 2, 3]
        ring = store.database.query("SELECT step FROM checkpoint_history WHERE session_id = ? ORDER BY seq", (name,))
        assert ring == [(1,), (2,), (3,)]
    assert (await store.lives("h"), await store.lives("other")) == (True, False)
    store.close()


async def test_a_log_too_long_for_its_new_keys_leaves_the_file_as_it_was(place: Path, batch: MakeBatch) -> None:
    _of_version_three(place, (1 << 32 | 1 << 24, "too far"))
    before = place.read_bytes()
    with pytest.raises(StorageError):
        await SqliteStore(place).heads()
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA user_version").fetchall() == [(3,)]
        assert connection.execute("SELECT key FROM batches").fetchall() == [(1 << 32 | 1 << 24,)]
    assert len(place.read_bytes()) == len(before)


OTHER = {
    "a text": b"not a database at all, but longer than a header would be, to be sure of it" * 20,
    "a database of something else": None,
}


@pytest.mark.parametrize("what", OTHER)
async def test_what_is_something_else_is_refused_and_stays(place: Path, what: str) -> None:
    content = OTHER[what]
    if content is not None:
        place.write_bytes(content)
    else:
        connection = sqlite3.connect(place)
        connection.execute("CREATE TABLE songs (title TEXT)")
        connection.commit()
        connection.close()
    before = place.read_bytes()
    store = SqliteStore(place)
    for call in (store.heads, lambda: store.claim("trip", "here")):
        with pytest.raises(NotAStoreError) as caught:
            await call()
        assert str(place) in caught.value.detail
    store.close()
    assert place.read_bytes() == before


async def test_a_folder_and_what_lies_below_a_file_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "lousho.db"):
        store = SqliteStore(path)
        for call in (store.heads, lambda store=store: store.claim("trip", "here")):
            with pytest.raises(NotAStoreError):
                await call()
        store.close()


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b"])
def test_a_path_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SqliteStore(path)
    assert caught.value.field == "path"


@pytest.mark.parametrize("name", ["with space.db", "per%cent?and#more.db", "ünï.db", "a'b\".db"])
async def test_any_name_of_a_file_works(tmp_path: Path, batch: MakeBatch, name: str) -> None:
    store = SqliteStore(tmp_path / name)
    await fill(store, batch)
    store.close()
    assert [file.name for file in tmp_path.iterdir()] == [name]


async def test_a_link_to_a_file_is_that_file(tmp_path: Path, batch: MakeBatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "lousho.db")
    store = SqliteStore(tmp_path / "link.db")
    claim = await store.claim("trip", "here")
    other = SqliteStore(tmp_path / "real" / "lousho.db")
    assert await other.owner("trip") is not None, "both look for the lock at the same place"
    await store.release(claim)
    store.close()
    other.close()


async def test_who_uses_a_closed_store_is_told(store: SqliteStore, batch: MakeBatch) -> None:
    await fill(store, batch)
    store.close()
    store.close()
    for call in (store.heads, lambda: store.claim("trip", "here")):
        with pytest.raises(StorageError, match="closed"):
            await call()


IN_A_FOLDER_THAT_CAN_NOT_BE_WRITTEN = """
set -e
mount -t tmpfs tmpfs {folder}
cp {database} {folder}/lousho.db
mount -o remount,ro {folder}
{python} -c '
import asyncio, sys
from lousho_cli.errors import StorageError
from lousho_cli.stores.sqlite.store import SqliteStore
store = SqliteStore(sys.argv[1])
print([head.id for head in asyncio.run(store.heads()).heads])
try:
    asyncio.run(store.claim("trip", "here"))
except StorageError as error:
    print(error)
' {folder}/lousho.db
"""


async def test_a_file_on_a_disk_that_can_not_be_written_is_read(
    tmp_path: Path, store: SqliteStore, place: Path, batch: MakeBatch, environment: dict[str, str]
) -> None:
    await fill(store, batch)
    store.close()
    folder = tmp_path / "disk"
    folder.mkdir()
    text = IN_A_FOLDER_THAT_CAN_NOT_BE_WRITTEN.format(folder=folder, database=place, python=sys.executable)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", text], env=environment, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("may not mount a file system of its own")
    assert done.returncode == 0, done.stderr
    listed, refused = done.stdout.splitlines()
    assert listed == "['trip']"
    assert "LOUSHO_STORAGE_FAILED" in refused
    assert str(folder / "lousho.db") in refused


@pytest.mark.parametrize("page", [1, 2, 3, 4, 5, 6, 8])
async def test_case_165_a_damaged_file_is_named_and_not_written(store: SqliteStore, place: Path, batch: MakeBatch, page: int) -> None:
    for name in ("one", "two", "three"):
        await fill(store, batch, name)
    store.close()
    data = bytearray(place.read_bytes())
    assert len(data) == 9 * 8192, "one of them, that of the table before the last migration, is free"
    data[page * 8192 : page * 8192 + 4096] = b"\x5a" * 4096
    place.write_bytes(data)
    for call in ("heads", "read", "claim", "delete"):
        damaged = SqliteStore(place)
        with pytest.raises(DamagedLogError) as caught:
            await getattr(damaged, call)(*{"heads": (), "claim": ("one", "here")}.get(call, ("one",)))
        assert caught.value.detail.startswith(f"the database {place} is damaged")
        assert ".recover" in caught.value.hint
        damaged.close()
        assert place.read_bytes() == data


async def test_damage_in_a_large_file_is_named_by_who_comes_to_it(store: SqliteStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(seq, 1, r.Note("n", "x" * 7000)) for seq in range(1, 700)])
    await store.release(claim)
    await fill(store, batch, "other")
    store.close()
    data = bytearray(place.read_bytes())
    assert len(data) > LOOKED_THROUGH_BYTES
    middle = len(data) // 2 // 8192 * 8192
    data[middle : middle + 4096] = b"\x5a" * 4096
    place.write_bytes(data)
    damaged = SqliteStore(place)
    assert len((await damaged.read("other")).batches) == 2
    for call in (damaged.read("trip"), damaged.claim("trip", "here"), damaged.heads()):
        with pytest.raises(DamagedLogError, match="is damaged"):
            await call
    assert await damaged.owner("trip") is None
    damaged.close()
