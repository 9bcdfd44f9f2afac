"""Pruning, on every log store: what is old goes, what a person must decide stays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.times import stamp
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.pruning import Pruned, prune
from lousho_cli.stores.sqlite.store import SqliteStore

DAY_MS = 86_400_000
NOW = "2026-03-31T00:00:00.000Z"
OLD, NEW = "2026-01-01T00:00:00.000Z", "2026-03-30T00:00:00.000Z"

KINDS: dict[str, Callable[[Path], Any]] = {
    "memory": lambda place: MemoryStore(),
    "file": lambda place: FileStore(place / ".lousho"),
    "sqlite": lambda place: SqliteStore(place / "lousho.db"),
}


@pytest.fixture(params=list(KINDS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return KINDS[request.param](tmp_path)


def begin(call: str = "c") -> tuple[r.Record, ...]:
    turn = Message("assistant", "", (ToolCall(call, "pay", "{}"),))
    return (r.Created("agent"), r.InputReceived("in", (user("hi"),)), r.InputApplied("in"), r.RunStarted("in"), r.Turn(turn), r.Mark(1))


def waits(approval: str = "ap-1", call: str = "c") -> tuple[r.Record, ...]:
    pending = PendingApproval(approval, call, "pay", {}, "0" * 16, OLD)
    return (r.WaitOpened(pending), r.Mark(1, "awaiting-approval", "awaiting-approval", approval))


def decided(approval: str = "ap-1") -> tuple[r.Record, ...]:
    return (r.WaitAnswered(approval, approved=True), r.Mark(1))


async def write(store: Any, name: str, *batches: tuple[str, tuple[r.Record, ...]]) -> None:
    """Batches at their times."""
    claim = await store.claim(name, "here")
    head = (await store.read(name)).head
    made = [r.Batch(seq, claim.epoch, at, records) for seq, (at, records) in enumerate(batches, head + 1)]
    await store.append(claim, made)
    await store.save_head(claim, head_of(fold((await store.read(name)).batches)))
    await store.release(claim)


async def ids(store: Any) -> list[str]:
    return sorted(head.id for head in (await store.heads()).heads)


async def test_what_nobody_touched_goes_and_counts_are_given(store: Any) -> None:
    await write(store, "old", (OLD, begin()), (OLD, waits()), (OLD, decided()))
    await write(store, "new", (NEW, begin()))
    assert await prune(store, 30 * DAY_MS, now=NOW, dry_run=True) == Pruned(("old",), checkpoints=3, approvals=1)
    assert await ids(store) == ["new", "old"]
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned(("old",), checkpoints=3, approvals=1)
    assert await ids(store) == ["new"]
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned()


async def test_de_088_checkpoints_older_than_the_cutoff_leave_the_history(store: Any) -> None:
    await write(store, "trip", (OLD, begin()), (OLD, (r.ToolFinished("c", "1"), r.Mark(1))))
    await write(store, "trip", (NEW, (r.Turn(Message("assistant", "done")), r.Mark(2, "finished"), r.InputSettled("in", "completed"))))
    before = await store.checkpoints.load("trip")
    (head,) = (await store.heads()).heads
    assert await prune(store, 30 * DAY_MS, now=NOW, dry_run=True) == Pruned(checkpoints=2)
    assert len(await store.checkpoints.history("trip")) == 3
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned(checkpoints=2)
    assert [(one.step, one.address) for one in await store.checkpoints.history("trip")] == [(2, "1/2.1")]
    assert await store.checkpoints.load("trip") == before
    (after,) = (await store.heads()).heads
    assert (after.updated_at, after.status, after.messages) == (head.updated_at, head.status, head.messages), "this is no touch"
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned()
    await write(store, "trip", (NEW, (r.InputReceived("more", (user("more"),)),)))
    assert (await read_session(store, "trip")).waiting == ("more",)


async def test_the_newest_checkpoint_stays_however_old(store: Any) -> None:
    await write(store, "trip", (OLD, begin()), (OLD, (r.ToolFinished("c", "1"), r.Mark(1))), (NEW, (r.Note("n", "touched"),)))
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned(checkpoints=1)
    assert [one.address for one in await store.checkpoints.history("trip")] == ["1/1.2"]
    assert await store.checkpoints.load("trip") is not None


async def test_de_089_what_waits_for_a_person_stays(store: Any) -> None:
    await write(store, "waits", (OLD, begin()), (OLD, waits()))
    await write(store, "fresh", (OLD, begin()), (NEW, waits("ap-2")))
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned(waiting=("waits",))
    assert {one.id for one in await store.approvals.list()} == {"ap-1", "ap-2"}
    assert len(await store.checkpoints.history("fresh")) == 2
    assert await prune(store, 30 * DAY_MS, now=NOW, force=True) == Pruned(("waits",), checkpoints=2)
    assert await ids(store) == ["fresh"]


async def test_old_decisions_are_forgotten_and_new_ones_kept(store: Any) -> None:
    await write(store, "trip", (OLD, begin()), (OLD, waits()), (OLD, decided()), (NEW, (r.ToolFinished("c", "1"), r.Mark(1))))
    await write(store, "trip", (NEW, begin("d")), (NEW, waits("ap-2", "d")), (NEW, decided("ap-2")))
    found = await prune(store, 30 * DAY_MS, now=NOW)
    assert (found.approvals, found.sessions) == (1, ())
    session = await read_session(store, "trip")
    assert dict(session.decided) == {"ap-2": True}
    assert session.decisions["d"].approved


async def test_a_pause_kept_for_elsewhere_goes_once_it_was_taken(store: Any) -> None:
    await write(store, "approval-ap-1", (OLD, begin()), (OLD, waits()))
    assert await prune(store, 30 * DAY_MS, now=NOW) == Pruned(waiting=("approval-ap-1",))
    await write(store, "approval-ap-1", (OLD, (r.WaitTaken("ap-1"),)))
    found = await prune(store, 30 * DAY_MS, now=NOW)
    assert (found.sessions, found.approvals) == ((), 1)
    assert await ids(store) == []


async def test_what_is_driven_newer_or_left_a_post_is_not_touched(store: Any) -> None:
    for name in ("driven", "newer", "posted", "shortened"):
        await write(store, name, (OLD, begin()), (OLD, (r.ToolFinished("c", "1"), r.Mark(1))))
    await write(store, "newer", (OLD, (r.Claimed("x", format=r.FORMAT + 1),)))
    await write(store, "shortened", (NEW, (r.Note("n", "touched"),)))
    await store.post("posted", Post("p", "input", NEW, body=[]))
    claims = [await store.claim("driven", "owner"), await store.claim("shortened", "owner")]
    found = await prune(store, 30 * DAY_MS, now=NOW)
    assert (found.sessions, found.waiting) == ((), ())
    skipped = dict(found.skipped)
    assert set(skipped) == {"driven", "newer", "shortened"}
    assert "owner, pid" in skipped["driven"]
    assert "newer version" in skipped["newer"]
    assert await ids(store) == ["driven", "newer", "posted", "shortened"]
    for claim in claims:
        await store.release(claim)
    assert (await prune(store, 30 * DAY_MS, now=NOW)).sessions == ("driven",)


def break_in_the_middle(kind: str, place: Path, name: str) -> None:
    """Damages the second batch of a log behind the back of its head, which still says that all is well."""
    if kind == "file":
        log = place / ".lousho" / "sessions" / name / "log.jsonl"
        lines = log.read_bytes().split(b"\n")
        at = next(index for index, line in enumerate(lines) if b'"seq":2' in line)
        lines[at] = lines[at].replace(b"lousho.", b"lousho!")
        log.write_bytes(b"\n".join(lines))
        return
    connection = sqlite3.connect(place / "lousho.db")
    sql = "UPDATE batches SET line = replace(line, 'lousho.', 'lousho!') WHERE key & 16777215 = 2 AND line LIKE ?"
    assert connection.execute(sql, (f"%{name}%",)).rowcount == 1
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", ["file", "sqlite"])
@pytest.mark.parametrize("touched", [OLD, NEW])
async def test_what_is_damaged_stays_though_its_head_is_sound_and_the_others_go(kind: str, touched: str, tmp_path: Path) -> None:
    store = KINDS[kind](tmp_path)
    for name in ("aa", "broken", "cc"):
        await write(store, name, (OLD, begin()))
        await write(store, name, (OLD, (r.ToolFinished("c", json.dumps(name)), r.Mark(1))))
        await write(store, name, (touched, (r.Note("n", "touched"),)))
        await write(store, name, (touched, (r.Note("n", "again"),)))
    break_in_the_middle(kind, tmp_path, "broken")
    again = KINDS[kind](tmp_path)
    for dry_run in (True, False):
        found = await prune(again, 30 * DAY_MS, now=NOW, dry_run=dry_run)
        assert dict(found.skipped) == {"broken": "damaged: see lousho fsck"}
        assert (found.sessions, found.checkpoints) == ((("aa", "cc"), 4) if touched == OLD else ((), 2))
    assert (await again.read("broken")).holes, "it is still there to be repaired"


@pytest.mark.parametrize("age", [-1, "30", None, True, float("nan"), float("inf")])
async def test_an_age_that_is_no_number_from_0_is_refused(store: Any, age: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await prune(store, age, now=NOW)
    assert caught.value.field == "older_than_ms"


async def test_no_age_at_all_takes_everything_and_an_endless_one_nothing(store: Any) -> None:
    await write(store, "trip", (OLD, begin()))
    assert await prune(store, 10**18, now=NOW) == Pruned()
    assert (await prune(store, 0, now=NOW)).sessions == ("trip",)


async def test_the_sqlite_store_prunes_itself(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    store = SqliteStore(tmp_path / "lousho.db")
    await write(store, "old", (OLD, begin()))
    await write(store, "new", (stamp(datetime.now(UTC)), begin()))
    assert (await store.prune(DAY_MS)).sessions == ("old",)
    with pytest.raises(ConfigurationError):
        await store.prune(-1)
    store.close()
