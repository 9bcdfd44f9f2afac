"""Deleting beside others who delete, and where the disk does not say what is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import StorageError
from lousho_cli.stores.file.layout import Layout
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


async def saved(store: FileStore, batch: MakeBatch, *names: str) -> None:
    for name in names:
        claim = await store.claim(name, "here")
        await store.append(claim, [batch(1)], durable=False)
        await store.release(claim)


async def test_the_trash_is_emptied_and_stays(store: FileStore, place: Path, batch: MakeBatch) -> None:
    (place / ".trash" / "left-by-a-crash").mkdir(parents=True)
    await saved(store, batch, "trip")
    assert await store.delete("trip") is True
    assert os.listdir(place / ".trash") == []  # noqa: PTH208
    assert os.listdir(place / "sessions") == []  # noqa: PTH208


async def test_a_session_is_gone_when_delete_says_so_whoever_removes_the_trash(store: FileStore, place: Path, batch: MakeBatch) -> None:
    names = [f"s{number}" for number in range(100)]
    await saved(store, batch, *names)
    done, begins = threading.Event(), threading.Event()

    def remove_it_once_each_time() -> None:
        while not done.is_set():
            try:
                os.rmdir(place / ".trash")
            except OSError:
                continue  # it is not there, or in use
            begins.wait()
            begins.clear()

    other = threading.Thread(target=remove_it_once_each_time)
    other.start()
    try:
        for name in names:
            begins.set()
            assert await store.delete(name) is True
            assert not (place / "sessions" / name).exists()
    finally:
        done.set()
        begins.set()
        other.join()


async def test_a_trash_that_can_not_be_made_is_an_error_and_the_session_stays(store: FileStore, place: Path, batch: MakeBatch) -> None:
    await saved(store, batch, "trip")
    (place / ".trash").symlink_to("nowhere")
    with pytest.raises(StorageError, match="sessions/trip"):
        await store.delete("trip")
    assert (await store.read("trip")).head == 1
    assert await store.owner("trip") is None


@pytest.mark.parametrize("call", ["head", "delete"])
async def test_a_folder_of_sessions_that_can_not_be_opened_is_a_storage_error(store: FileStore, place: Path, call: str) -> None:
    place.mkdir()
    (place / "sessions").symlink_to("sessions")  # a loop: the system refuses it, also to root
    with pytest.raises(StorageError, match="sessions"):
        await getattr(store, call)("trip")


async def test_a_session_that_can_not_be_looked_into_is_a_storage_error(place: Path) -> None:
    from lousho_cli.stores.file import deleting

    folder = place / "sessions" / "trip"
    folder.parent.mkdir(parents=True)
    folder.symlink_to("trip")
    assert Layout(place).check()
    with pytest.raises(StorageError, match="sessions/trip"):
        deleting.is_there(os.fspath(folder))
