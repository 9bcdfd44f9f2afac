"""Our own logs, written out and read again: the same session, whatever is in it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.app.importing import import_paths
from lousho_cli.core.fold import fold
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import IMPORTING, Session
from lousho_cli.errors import StorageError
from lousho_cli.interchange.session_lines import Header, session_lines
from lousho_cli.ports.log_store import LogRead
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore


def a_log(chance: random.Random) -> list[r.Batch]:
    """Batches that make some sense, with a user's own records and others' among them."""
    batches, epoch = [], 1
    for seq in range(1, chance.randrange(3, 25)):
        some: list[Any] = [
            r.InputReceived(f"i{seq}", (user(f"ä\u2028 {seq}"),)),
            r.RunStarted(f"i{seq}", instructions=chance.choice([None, "You help."])),
            r.InputApplied(f"i{seq - 1}"),
            r.Turn(Message("assistant", "x", (ToolCall(f"c{seq}", "t", '{ "a" :1}'),)), "tool_calls", "m"),
            r.Turn(Message("assistant", "done")),
            r.ToolFinished(f"c{seq - 1}", "1"),
            r.Mark(seq, chance.choice(["in-progress", "finished"])),
            r.Foreign("mine", b'{"type":"mine","x":[1, 2]}'),
            r.Foreign("lousho.of_tomorrow", b'{"type":"lousho.of_tomorrow","y":1}'),
            r.BusinessState({"n": 2**70}),
        ]
        records = chance.sample(some, chance.randrange(1, 4))
        if seq == 1 or chance.random() < 0.2:
            epoch += seq > 1
            records.insert(0, r.Claimed(f"host-{epoch}"))
        batches.append(r.Batch(seq, epoch, f"2026-01-01T00:00:{seq:02}.000Z", tuple(records)))
    return batches


def said(batch: r.Batch) -> list[Any]:
    """Its records, but for those by which an import tells that it has not come to its end."""
    return [record for record in batch.records if not (isinstance(record, r.SettingChanged) and record.name == IMPORTING)]


def without_epoch(session: Session) -> Session:
    return msgspec.structs.replace(session, epoch=0, turn=None)


async def test_a_round_trip_gives_the_same_session(tmp_path: Path) -> None:
    for seed in range(60):
        batches = a_log(random.Random(seed))
        path = tmp_path / "away.jsonl"
        path.write_bytes(b"".join(session_lines(Header("trip"), batches)))
        store = MemoryStore()
        done = await import_paths(store, [path], dry_run=False)
        assert [(one.session, one.result, one.bad_lines) for one in done.sessions] == [("trip", "imported", ())], seed
        there = (await store.read("trip")).batches
        assert [(batch.seq, batch.at, said(batch)) for batch in there] == [(batch.seq, batch.at, said(batch)) for batch in batches]
        ours, theirs = await read_session(store, "trip"), fold(batches)
        assert without_epoch(ours) == without_epoch(theirs), seed
        again = b"".join(session_lines(Header("trip"), there))
        path.write_bytes(again)
        assert (await import_paths(store, [path], dry_run=False)).sessions[0].result == "unchanged"


class Cut(MemoryStore):
    """A store that fails behind the first few batches it is given at once."""

    room = 0

    async def append(self, claim: Any, batches: Sequence[r.Batch], *, durable: bool = True) -> None:
        await super().append(claim, batches[: self.room], durable=durable)
        raise StorageError("the disk is full")


async def test_an_import_that_was_cut_off_anywhere_is_whole_once_it_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "away.jsonl"
    known = [msgspec.structs.replace(batch, records=tuple(filter(is_known, batch.records))) for batch in a_log(random.Random(7))]
    path.write_bytes(b"".join(session_lines(Header("trip"), known)))
    last = len((await imported(MemoryStore(), path)).batches)
    assert last > 3
    for room in range(1, last):
        store = Cut()
        store.room = room
        with pytest.raises(StorageError):
            await import_paths(store, [path], dry_run=False)
        head = await store.head("trip")
        assert head is not None
        assert head.importing, room
        elsewhere, half = MemoryStore(), tmp_path / "half.jsonl"
        half.write_bytes(b"".join(session_lines(Header("trip"), (await store.read("trip")).batches)))
        for there, so in ((half, True), (path, False)):  # what is written out of it is no more than it was
            await imported(elsewhere, there)
            head = await elsewhere.head("trip")
            assert head is not None
            assert head.importing is so, room
        store.append = partial(MemoryStore.append, store)  # type: ignore[method-assign]  # there is room again
        assert len((await imported(store, path)).batches) == last
        head = await store.head("trip")
        assert head is not None
        assert not head.importing, room


def is_known(record: Any) -> bool:
    return not (isinstance(record, r.Foreign) and record.reserved)


async def imported(store: MemoryStore, path: Path) -> LogRead:
    await import_paths(store, [path], dry_run=False)
    return await store.read("trip")


async def test_one_that_grew_one_that_differs_and_a_line_that_is_torn(tmp_path: Path) -> None:
    batches = a_log(random.Random(3))
    lines = [*session_lines(Header("trip"), batches)]
    path, store = tmp_path / "away.jsonl", MemoryStore()
    results = []
    for some in (lines[:4], lines, lines[:3]):
        path.write_bytes(b"".join(some))
        results.append((await import_paths(store, [path], dry_run=False)).sessions[0].result)
    assert results == ["imported", "extended", "unchanged"]
    path.write_bytes(b"".join(session_lines(Header("trip"), a_log(random.Random(4)))))
    other = (await import_paths(store, [path], dry_run=False)).sessions[0]
    assert (other.session, other.was, other.result) == ("trip-2", "trip", "imported")
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"a", b"b", 1), *lines[3:]]))
    torn = (await import_paths(MemoryStore(), [path], dry_run=False)).sessions[0]
    assert [bad.line for bad in torn.bad_lines] == [3]


async def test_the_store_that_is_imported_to_is_not_looked_into_and_nothing_beside_a_log_is(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]')
    (tmp_path / "bad.json").write_bytes(b"\xff")
    store = FileStore(tmp_path / ".lousho")
    for result in ("imported", "unchanged"):
        done = await import_paths(store, [tmp_path], dry_run=False)
        assert [(one.session, one.result) for one in done.sessions] == [("talk", result)]
        assert [Path(failed.source).name for failed in done.failed] == ["bad.json"]
        assert not done.failed[0].why.startswith("bad.json")
    elsewhere = await import_paths(MemoryStore(), [tmp_path / ".lousho"], dry_run=False)
    assert [(one.session, one.result, one.bad_lines) for one in elsewhere.sessions] == [("talk", "imported", ())]


async def test_a_log_as_it_lies_on_disk_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "trip"
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_bytes(b"".join(map(encode_line, a_log(random.Random(1)))))
    (folder / "head.json").write_text("{}")
    done = await import_paths(MemoryStore(), [tmp_path], dry_run=False)
    assert [(one.session, one.kind) for one in done.sessions] == [("trip", "lousho")]
