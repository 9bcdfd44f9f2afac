"""A session that is looked at: its ring, what happened between its checkpoints, and what comes as it grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.families import family
from lousho_cli.app.ring import RingReader, entry_at
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.errors import NotFoundError
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore
from tests.tui.sample import at, begins, call, turn
from tests.tui.voyage import voyage


@pytest.fixture(params=["file", "sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {"file": lambda: FileStore(tmp_path / "s"), "sqlite": lambda: SqliteStore(tmp_path / "s.db"), "memory": MemoryStore}[
        request.param
    ]()


async def test_a_ring_grows_by_what_another_writes_and_tells_that_it_was_cut(store: Any) -> None:
    reader = RingReader("trip")
    with pytest.raises(NotFoundError):
        await reader.read(store)
    claim = await store.claim("trip", "desk")
    asks = turn("Let me look.", 1, call("weather"))
    await store.append(
        claim,
        [r.Batch(1, claim.epoch, at(0), (r.Claimed("desk"), *begins("trip", "plan")[1])), r.Batch(2, claim.epoch, at(1), tuple(asks))],
    )
    first = await reader.read(store)
    assert [one.entry.address for one in first.entries] == ["trip@1/1.1"]
    assert first.driven_by is not None and first.driven_by.startswith("desk") and not first.cut
    assert first is await reader.read(store)
    await store.append(claim, [r.Batch(3, claim.epoch, at(2), (r.ToolStarted("call_weather"),))])
    assert (await reader.read(store)).running == ("weather",)
    await store.append(claim, [r.Batch(4, claim.epoch, at(3), (r.ToolFinished("call_weather", '"sun"'), r.Mark(1)))])
    await store.append(
        claim, [r.Batch(5, claim.epoch, at(4), (r.Partial("Take the "),)), r.Batch(6, claim.epoch, at(4), (r.Partial("coast"),))]
    )
    second = await reader.read(store)
    assert (second.writing, second.entries[0].results, len(second.entries)) == ("Take the coast", ("weather",), 2)
    await store.release(claim)
    left = await reader.read(store)
    assert left.cut and left.driven_by is None
    claim = await store.claim("trip", "laptop")
    await store.append(claim, [r.Batch(7, claim.epoch, at(5), (r.Claimed("laptop"), r.RunResumed(2)))])
    last = r.Turn(Message("assistant", "Take the coast."))
    await store.append(claim, [r.Batch(8, claim.epoch, at(6), (last, r.Mark(2, "finished", "stop"), r.InputSettled("in-1", "completed")))])
    await store.release(claim)
    ended = await reader.read(store)
    assert [mark.kind for mark in ended.entries[0].marks] == ["crash", "takeover", "resume"]
    assert not ended.cut and ended.writing == "" and ended.status == "finished"
    await store.delete("trip")
    with pytest.raises(NotFoundError):
        await reader.read(store)


async def test_a_checkpoint_is_as_show_gives_it_and_is_made_once(tmp_path: Path) -> None:
    from lousho_cli.app.showing import show

    store = FileStore(await voyage(tmp_path))
    reader = RingReader("voyage")
    ring = await reader.read(store)
    for one in ring.entries:
        assert reader.shown(one.entry.address) == (await show(store, one.entry.address))[0]
    assert reader.shown("voyage").messages == (await show(store, "voyage"))[0].messages
    assert reader.shown("voyage@3").messages[0] is reader.shown("voyage@1.1").messages[0]
    assert reader.before("voyage@1.1") is None and reader.before("voyage") == "voyage@1/3.1"
    assert reader.before("voyage@1/2.1") == "voyage@1/1.3"
    types = [followed.type for followed in reader.records("voyage@1/2.1")]
    assert types == ["lousho.model_retry", "lousho.turn", "lousho.wait_opened", "lousho.mark"]
    assert reader.records("voyage") == ()
    found = entry_at(ring, "voyage@1")
    assert found is not None and found.entry.address == "voyage@1/1.3"
    assert entry_at(ring, "voyage@9") is None
    by_seq = entry_at(ring, "voyage#3")
    assert by_seq is not None and by_seq.entry.address == "voyage@1/1.1"


async def test_a_family_is_told_from_any_of_its_members(tmp_path: Path) -> None:
    store = FileStore(await voyage(tmp_path))
    known: dict[str, int | None] = {}
    found = await family(store, "voyage.fork-2", known)
    assert [(one.id, one.parent, one.left_at) for one in found] == [
        ("voyage", None, None),
        ("voyage.fork-1", "voyage", 1),
        ("voyage.fork-2", "voyage", 1),
    ]
    assert known == {"voyage.fork-1": 1, "voyage.fork-2": 1}
    await store.delete("voyage")
    assert [(one.id, one.gone) for one in await family(store, "voyage.fork-1", known)][0] == ("voyage", True)


async def test_a_damaged_line_is_told_where_it_stands(tmp_path: Path) -> None:
    folder = await voyage(tmp_path)
    log = next(folder.rglob("sessions/voyage/log.jsonl"))
    lines = log.read_bytes().split(b"\n")
    lines[6] = lines[6][:-9] + b'damage"}]'
    log.write_bytes(b"\n".join(lines))
    ring = await RingReader("voyage").read(FileStore(folder))
    told = [mark.text for one in ring.entries for mark in one.marks if mark.kind == "damage"]
    assert ring.damage and told == list(ring.damage)
