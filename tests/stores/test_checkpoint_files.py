"""Plain files: what lies where, what a crash leaves, what is damaged, and who gets an approval."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen, run

import lousho_cli
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.stores.checkpoint_files import FileApprovalStore, FileCheckpointStore

PROCESS = Path(__file__).with_name("files_process.py")
ENVIRON = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}


def checkpoint(step: int, **more: Any) -> Checkpoint:
    return Checkpoint("s", (user(f"step {step}"),), step_index=step, **more)


def pause(approval_id: str) -> tuple[PendingApproval, ExecutionSnapshot]:
    pending = PendingApproval(approval_id, "c1", "pay", {"n": 1}, "0" * 16, "2026-01-01T00:00:00.000Z", session_id="s")
    messages = (user("go"), Message("assistant", "", (ToolCall("c1", "pay", '{"n":1}'),)))
    return pending, ExecutionSnapshot(Agent("agent"), messages, pending, 1, "s", remaining_tool_calls=())


@pytest.fixture
def store(tmp_path: Path) -> FileCheckpointStore:
    return FileCheckpointStore(tmp_path / "agent")


def files(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


async def steps(store: FileCheckpointStore, session: str = "s") -> list[int]:
    return [entry.step for entry in await store.history(session)]


# What lies where


async def test_one_file_a_session_and_one_for_its_history(store: FileCheckpointStore, tmp_path: Path) -> None:
    assert files(tmp_path) == []  # opening makes nothing
    for step in (1, 2):
        await store.save("s", checkpoint(step))
    place = tmp_path / "agent"
    assert files(place) == ["checkpoint-history/s.json", "checkpoints/s.json"]
    assert json.loads((place / "checkpoints/s.json").read_text())["step_index"] == 2
    ring = json.loads((place / "checkpoint-history/s.json").read_text())
    assert [entry["step"] for entry in ring] == [1, 2]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in place.rglob("*")} | {stat.S_IMODE(place.stat().st_mode)}
    assert modes == {0o700, 0o600}


async def test_without_history_there_is_one_file(tmp_path: Path) -> None:
    await FileCheckpointStore(tmp_path, 0).save("s", checkpoint(1))
    assert files(tmp_path) == ["checkpoints/s.json"]


async def test_capitals_are_escaped_so_that_no_disk_mixes_two_sessions(store: FileCheckpointStore, tmp_path: Path) -> None:
    for step, name in enumerate(("trip", "Trip", "TRIP"), 1):
        await store.save(name, checkpoint(step))
    names = os.listdir(tmp_path / "agent/checkpoints")
    assert sorted(names) == ["^t^r^i^p.json", "^trip.json", "trip.json"]
    assert len({name.lower() for name in names}) == 3


async def test_the_longest_ids_fit(store: FileCheckpointStore) -> None:
    """Two hundred capitals, and a second id that differs in one of them."""
    first, second = "A" * 200, "A" * 199 + "a"
    await store.save(first, checkpoint(1))
    await store.save(second, checkpoint(2))
    assert [(await store.load(name)).step_index for name in (first, second)] == [1, 2]
    assert await steps(store, first) == [1]


async def test_an_older_file_with_capitals_is_read_and_goes_with_the_next_save(store: FileCheckpointStore, tmp_path: Path) -> None:
    await store.save("Trip", checkpoint(1))
    for kind in ("checkpoints", "checkpoint-history"):
        (tmp_path / "agent" / kind / "^trip.json").rename(tmp_path / "agent" / kind / "Trip.json")
    assert (await store.load("Trip")).step_index == 1
    assert await steps(store, "Trip") == [1]
    assert await store.load("trip") is None
    await store.save("Trip", checkpoint(2))
    assert files(tmp_path / "agent") == ["checkpoint-history/^trip.json", "checkpoints/^trip.json"]
    assert await steps(store, "Trip") == [2, 1]


async def test_a_folder_of_the_original_goes_on(tmp_path: Path) -> None:
    """Its spelling, its history of one file, as Agent Forge keeps it for an agent."""
    place = tmp_path / ".lousho/agents/planner"
    old = {"agentId": "planner", "sessionId": "chat", "stepIndex": 1, "status": "finished", "finishReason": "stop"}
    old["messages"] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    for folder, value in (
        ("checkpoints", old),
        ("checkpoint-history", [{"step": 1, "savedAt": "2025-06-01T10:00:00.000Z", "status": "finished", "checkpoint": old}]),
    ):
        (place / folder).mkdir(parents=True)
        (place / folder / "chat.json").write_text(json.dumps(value))
    store = FileCheckpointStore(place)
    assert [message.text for message in (await store.load("chat")).messages] == ["hi", "hello"]
    (entry,) = await store.history("chat")
    assert (entry.step, entry.saved_at, entry.status) == (1, "2025-06-01T10:00:00.000Z", "finished")
    await store.save("chat", checkpoint(2))
    assert await steps(store, "chat") == [2, 1]


# Damage


@pytest.mark.parametrize("damage", ["", '[{"step": 1, "saved', "7", '{"a": 1}', "\x00" * 40])
async def test_de_091_a_damaged_history_is_none_and_is_rebuilt(store: FileCheckpointStore, tmp_path: Path, damage: str) -> None:
    for step in (1, 2):
        await store.save("s", checkpoint(step))
    (tmp_path / "agent/checkpoint-history/s.json").write_text(damage)
    assert await steps(store) == []
    assert (await store.load("s")).step_index == 2
    await store.save("s", checkpoint(3))
    assert await steps(store) == [3]


async def test_one_bad_entry_of_a_history_is_passed_over(store: FileCheckpointStore, tmp_path: Path) -> None:
    for step in (1, 2, 3):
        await store.save("s", checkpoint(step))
    path = tmp_path / "agent/checkpoint-history/s.json"
    ring = json.loads(path.read_text())
    ring[1] = {"step": "two"}
    path.write_text(json.dumps(ring))
    assert await steps(store) == [3, 1]


@pytest.mark.parametrize("damage", ["", '{"session_id": "s", "mess', "[]", '{"messages": 5}', "\xff"])
async def test_a_damaged_checkpoint_is_named_by_its_file(store: FileCheckpointStore, tmp_path: Path, damage: str) -> None:
    await store.save("s", checkpoint(1))
    path = tmp_path / "agent/checkpoints/s.json"
    path.write_bytes(damage.encode("latin-1"))
    with pytest.raises(StorageError) as raised:
        await store.load("s")
    assert str(path) in raised.value.detail
    await store.save("s", checkpoint(2))
    assert await steps(store) == [2, 1]


async def test_a_place_that_can_not_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileCheckpointStore(tmp_path / "file")
    with pytest.raises(StorageError) as raised:
        await store.save("s", checkpoint(1))
    assert str(tmp_path / "file") in raised.value.detail
    assert await store.load("s") is None
    assert await store.history("s") == []
    await store.delete("s")


async def test_what_json_can_not_hold_is_refused_before_anything_is_written(store: FileCheckpointStore, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can not be stored as JSON"):
        await store.save("s", checkpoint(1, business_state={"x": object()}))
    assert files(tmp_path) == []


# Crashes


def save_in_a_process(place: Path, step: int, limit: int, *kill: str) -> int:
    return run([*kill, sys.executable, str(PROCESS), "save", str(place), str(step), str(limit)], env=ENVIRON).returncode


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("point", ["fsync 1", "rename 1", "fsync 2", "fsync 3", "rename 2", "fsync 4", "fsync 5"])
async def test_de_168_killed_at_any_point_of_a_save(tmp_path: Path, point: str) -> None:
    """At each sync and each rename; a reader finds the old list or the new one, and the next save is as any other."""
    store = FileCheckpointStore(tmp_path, 2)
    for step in (1, 2):
        await store.save("s", checkpoint(step))
    call, number = point.split()
    kill = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
    died = await asyncio.to_thread(save_in_a_process, tmp_path, 3, 2, *kill)
    ended = point == "fsync 5"  # there is none
    assert (died == 0) == ended, died
    loaded, ring = await store.load("s"), await steps(store)
    assert (loaded.step_index, ring) in ((2, [2, 1]), (3, [2, 1]), (3, [3, 2]))
    assert not ended or (loaded.step_index, ring) == (3, [3, 2])
    await store.save("s", checkpoint(4))
    assert ((await store.load("s")).step_index, (await steps(store))[0]) == (4, 4)


async def test_a_save_that_is_cancelled_lands_before_the_next_one(store: FileCheckpointStore, tmp_path: Path) -> None:
    """A large one is cancelled while it is written, and a small one comes behind it."""
    await store.save("s", checkpoint(0))
    for step in (1, 3, 5):
        large = Checkpoint("s", (user("x" * 5_000_000),), step_index=step)
        saving = asyncio.ensure_future(store.save("s", large))
        async with asyncio.timeout(30):
            while not any(name.endswith(".tmp") for name in files(tmp_path)):
                await asyncio.sleep(0)
        saving.cancel()
        await store.save("s", checkpoint(step + 1))
        assert (await store.load("s")).step_index == step + 1
        assert (await steps(store))[0] == step + 1


async def test_saves_at_once_lose_no_entry(store: FileCheckpointStore) -> None:
    await asyncio.gather(*(store.save("s", checkpoint(step)) for step in range(1, 21)))
    assert sorted(await steps(store)) == list(range(1, 21))


# Approvals


@pytest.fixture
def takers(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    command = [sys.executable, str(PROCESS), "take", str(tmp_path)]
    started = [Popen(command, env=ENVIRON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    yield started
    for process in started:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


async def test_de_067_of_processes_that_race_exactly_one_gets_it(tmp_path: Path, takers: list[Any]) -> None:
    store = FileApprovalStore(tmp_path)
    for number in range(60):
        await store.save(*pause(f"ap{number}"))
        for process in takers:
            process.stdin.write(f"ap{number}\n")
        for process in takers:
            process.stdin.flush()
        assert sorted(process.stdout.readline() for process in takers) == ["none\n", "none\n", "took\n"]
    assert files(tmp_path) == []


async def test_who_dies_while_taking_one_has_taken_it_until_it_is_saved_again(tmp_path: Path) -> None:
    store = FileApprovalStore(tmp_path)
    await store.save(*pause("ap1"))
    (tmp_path / "approvals/ap1.json.claim").touch()  # what a process killed there leaves
    assert await store.load("ap1") is None
    assert await store.resolve("ap1") is None
    assert await store.list() == []
    await store.save(*pause("ap1"))
    assert [pending.id for pending in await store.list()] == ["ap1"]
    assert (await store.resolve("ap1")).pending == pause("ap1")[0]
    assert files(tmp_path) == []


async def test_a_damaged_approval_is_named_and_not_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = FileApprovalStore(tmp_path)
    for name in ("good", "bad"):
        await store.save(*pause(name))
    (tmp_path / "approvals/bad.json").write_text("{")
    for call in (store.load("bad"), store.resolve("bad")):
        with pytest.raises(StorageError, match=r"bad\.json can not be read"):
            await call
    with caplog.at_level(logging.WARNING, "lousho"):
        assert [pending.id for pending in await store.list()] == ["good"]
    assert "bad.json" in caplog.text
    assert files(tmp_path) == ["approvals/bad.json", "approvals/good.json"]


@pytest.mark.parametrize("approval_id", ["", "../x", "a.json", "a/b", "x" * 129])
async def test_an_id_that_can_name_no_file_is_refused(tmp_path: Path, approval_id: str) -> None:
    store = FileApprovalStore(tmp_path)
    for call in (store.load(approval_id), store.resolve(approval_id), store.save(*pause(approval_id))):
        with pytest.raises(ConfigurationError) as raised:
            await call
        assert raised.value.field == "approval_id"
    assert files(tmp_path) == []
