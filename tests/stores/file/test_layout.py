"""Names, rights, and what is no store."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.state import State
from lousho_cli.errors import NotAStoreError, StorageError
from lousho_cli.stores.file.layout import id_of, name_of
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]

WORD = "ABCdefXYZ019._-"
ids = st.builds(lambda first, rest: first + rest, st.sampled_from("aZ0_"), st.text(WORD, max_size=127))


@given(ids, ids)
def test_names_are_reversible_short_and_differ_beyond_case(one: str, other: str) -> None:
    assert check_session_id(one) == one
    assert id_of(name_of(one)) == one
    assert len(name_of(one)) <= 240
    if one != other:
        assert name_of(one).lower() != name_of(other).lower()


def test_a_name_that_is_no_sessions_is_none() -> None:
    for name in ("Trip", "^", "^^", "^^f", "a^^zz", "a^^ff", "trip^", "a b", "^1", "x" * 129, "a^^0"):
        assert id_of(name) is None, name
    assert name_of("Trip") == "^trip"
    assert name_of("A" * 150 + ".fork-1").startswith("a" * 150)


async def write_everything(store: FileStore, batch: MakeBatch) -> None:
    claim = await store.claim("Trip", "here")
    await store.append(claim, [batch(1)])
    await store.save_snapshot(claim, State(seq=1, epoch=1))
    await store.save_head(claim, Head(seq=1))
    await store.post("Trip", Post("p", "abort", "now"))


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
async def test_case_152_nobody_else_may_read(store: FileStore, place: Path, batch: MakeBatch, mask: int) -> None:
    before = os.umask(mask)
    try:
        await write_everything(store, batch)
    finally:
        os.umask(before)
    paths = [place, *place.rglob("*")]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    assert {path: mode for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}
    names = {".gitignore", "log.jsonl", "owner.1.json", "snapshot.json", "head.json", "p.json"}
    assert {path.name for path in paths if path.is_file()} == names
    assert (place / ".gitignore").read_text() == "*\n"


async def test_reading_never_makes_a_store(store: FileStore, place: Path) -> None:
    await store.heads()
    await store.read("trip")
    await store.inbox("trip")
    await store.owner("trip")
    await store.head("trip")
    await store.delete("trip")
    await store.discard("trip", ["p"])
    await store.watch("trip", 0, 1)
    assert not place.exists()


async def test_a_folder_that_was_there_gets_no_gitignore(tmp_path: Path, batch: MakeBatch) -> None:
    claim = await FileStore(tmp_path).claim("trip", "here")
    await FileStore(tmp_path).release(claim)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sessions"]


async def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        store = FileStore(path)
        for call in (store.heads, lambda: store.claim("trip", "here"), lambda: store.read("trip"), lambda: store.head("trip")):  # noqa: B023
            with pytest.raises(NotAStoreError):
                await call()
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
async def test_another_users_folder_is_no_store(place: Path) -> None:
    place.mkdir()
    os.chown(place, 12345, 12345)
    with pytest.raises(NotAStoreError, match="12345"):
        await FileStore(place).claim("trip", "here")
    with pytest.raises(NotAStoreError):
        await FileStore(place).heads()


AS_SOMEBODY = """
import asyncio, os, sys
from lousho_cli.errors import SDKError
from lousho_cli.stores.file.store import FileStore
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
async def main():
    try:
        await FileStore(sys.argv[1]).claim("trip", "here")
    except SDKError as error:
        print(type(error).__name__, error)
asyncio.run(main())
"""


@pytest.mark.parametrize("locked", ["sessions/trip", "sessions", "."])
def test_case_194_a_read_only_folder_is_not_busy(locked: str, child_environment: dict[str, str]) -> None:
    import shutil
    import tempfile

    place = Path(tempfile.mkdtemp())  # not below pytest's own folder, which nobody else may enter
    folder = place / "store" / "sessions" / ("trip" if locked == "sessions/trip" else "")
    try:
        folder.mkdir(parents=True)
        if locked == ".":
            folder.rmdir()
        for path in (place, *place.rglob("*")):
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
        (place / "store" / locked).chmod(0o500)
        child = subprocess.run(
            [sys.executable, "-c", AS_SOMEBODY, str(place / "store")], env=child_environment, capture_output=True, text=True, check=True
        )
        assert child.stdout.startswith("StorageError"), child.stdout + child.stderr
        assert "permission denied" in child.stdout
        assert str(place / "store") in child.stdout
        assert ".claim-" not in child.stdout, "a name of our own that is nowhere to be found"
    finally:
        for path in (place, *place.rglob("*")):
            if path.is_dir():
                path.chmod(0o700)
        shutil.rmtree(place)


async def test_a_copied_store_works(store: FileStore, tmp_path: Path, batch: MakeBatch) -> None:
    import shutil

    await write_everything(store, batch)
    shutil.copytree(tmp_path / ".lousho", tmp_path / "copy")
    (tmp_path / "copy/sessions/^trip").rename(tmp_path / "copy/sessions/moved")
    copy = FileStore(tmp_path / "copy")
    (head,) = (await copy.heads()).heads
    assert head.id == "moved"
    assert (await copy.load_snapshot("moved")) == State(seq=1, epoch=1)
    claim = await copy.claim("moved", "here")
    await copy.append(claim, [batch(2, claim.epoch)])
    assert (await copy.read("moved")).head == 2
    assert (await store.read("Trip")).head == 1


async def test_a_failure_names_the_path(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    (place / "sessions/trip/log.jsonl").mkdir()
    with pytest.raises(StorageError, match="log.jsonl"):
        await store.append(claim, [batch(1)])
    with pytest.raises(StorageError, match="log.jsonl"):
        await store.read("trip")
