"""Killed or stopped in a trim: the old log or the new one is there, whole, and says the same; and it goes on.

CI takes the calls that change something; ``pytest -m sweep tests/crash`` takes every call.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from warm_process import Popen, run

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.core.trimming import has_base
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import Session
from lousho_cli.errors import SessionBusyError
from lousho_cli.executor.trimming import trim_session
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.fsck import check
from lousho_cli.stores.file.store import FileStore

SCRIPT = Path(__file__).with_name("trim_process.py")
AT = "2026-01-01T00:00:00.000Z"
WAKE = "2027-01-01T00:00:00.000Z"
READING = ("read", "pread64", "lseek", "newfstatat", "getdents64")
CHANGING = ("openat", "write", "writev", "pwrite64", "fsync", "fdatasync", "link", "rename", "unlink", "mkdir", "chmod", "flock", "close")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session in the middle of its second step, with a snapshot, a cached head, a wake and a post."""
    folder = tmp_path_factory.mktemp("template") / ".lousho"
    asyncio.run(_make(FileStore(folder)))
    return folder


async def _make(store: FileStore) -> None:
    calls = (ToolCall("c1", "one", "{}"), ToolCall("c2", "two", "{}"))
    groups: list[tuple[r.Record, ...]] = [
        (r.Created("trip"), r.InputReceived("in", (user("go"),)), r.InputApplied("in"), r.RunStarted("in", offered=("one", "two"))),
        (r.Turn(Message("assistant", "x" * 9_000, calls), "tool_calls"), r.Mark(1)),
        (r.ToolStarted("c1"), r.ToolStarted("c2")),
        (r.ToolFinished("c1", '"first"'), r.Mark(1)),
    ]
    claim = await store.claim("trip", "here")
    for seq, group in enumerate(groups, 1):
        await store.append(claim, [r.Batch(seq, claim.epoch, AT, (r.Claimed("here"), *group) if seq == 1 else group)])
    session = await read_session(store, "trip")
    await store.save_snapshot(claim, state_from(session))
    await store.save_head(claim, head_of(session))
    await store.post("trip", Post("in-2", "input", AT, body="more"))
    await store.release(claim, WAKE)


class Sweep:
    """The same trim over and over, each time killed at the next call of one kind."""

    def __init__(self, folder: Path, template: Path, points: Any, environment: dict[str, str]) -> None:
        if not points.can_trace():
            pytest.skip("strace is not there, or may not trace")
        self.folder, self.template, self.points, self.environment = folder, template, points, environment
        self.before = asyncio.run(read_session(FileStore(template), "trip"))
        self.run(self.copy("compiles"))
        place, trace = self.copy("reference"), folder / "trace"
        assert self.run(place, "strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=%file,%desc") == (0, "trimmed\n")
        self.calls = points.calls_in(trace.read_text(), str(place))

    def copy(self, name: str) -> Path:
        place = self.folder / name / ".lousho"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.template, place)
        return place

    def run(self, place: Path, *tracer: str) -> tuple[int, str]:
        command = [*tracer, sys.executable, str(SCRIPT), str(place)]
        ran = run(command, env=self.environment, capture_output=True, text=True)
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran.returncode, ran.stdout

    def numbers(self, call: str) -> range:
        name = call if call in self.calls else self.points.OTHER_NAMES.get(call, call)
        found: range = self.calls.get(name, range(0))
        return found

    def killed(self, call: str, number: int) -> tuple[bool, bool]:
        """Kills at one point and looks; gives whether it came to that, and whether the new log was in its place already."""
        place = self.copy(f"{call}-{number}")
        name = call if call in self.calls else self.points.OTHER_NAMES.get(call, call)
        code, said = self.run(place, *self.points.strace(name, f"signal=KILL:when={number}"))
        new = asyncio.run(self.look(FileStore(place), told=bool(said)))
        shutil.rmtree(place.parent)
        return code == self.points.KILLED, new

    async def look(self, store: FileStore, *, told: bool) -> bool:
        found = await store.read("trip")
        new = len(found.batches) == 1
        assert has_base(found.batches[0]) if new else [one.seq for one in found.batches] == [1, 2, 3, 4]
        assert new or not told
        assert (found.head, found.holes) == (4, ())
        assert same(fold(found.batches)) == same(await read_session(store, "trip")) == same(self.before)
        head = await store.head("trip")
        assert head is not None
        assert msgspec.structs.replace(head, id="", wake_at=None) == head_of(self.before)
        assert [post.id for post in await store.inbox("trip")] == ["in-2"]
        assert not [finding for finding in await check(store) if finding.serious]
        await self.goes_on(store)
        return new

    async def goes_on(self, store: FileStore) -> None:
        done = await trim_session("trip", store)
        assert (done.batches, done.trimmed) in ((1, False), (4, True))
        claim = await store.claim("trip", "next")
        finished = r.ToolFinished("c2", '"second"')
        await store.append(claim, [r.Batch(5, claim.epoch, AT, (r.Claimed("next"), finished, r.Mark(1)))])
        await store.release(claim)
        session = await read_session(store, "trip")
        assert [message.text for message in session.messages if message.role == "tool"] == ['"first"', '"second"']
        assert [mark.address for mark in session.marks] == ["1/1.1", "1/1.2", "1/1.3"]
        assert await check(store) == []


def same(session: Session) -> Session:
    """A session, whoever wrote it down last."""
    return msgspec.structs.replace(session, epoch=0)


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory, template: Path, points: Any) -> Sweep:
    import lousho_cli

    environment = dict(os.environ) | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
    return Sweep(tmp_path_factory.mktemp("trim"), template, points, environment)


def test_the_sweep_covers_every_kind_of_call_that_touches_the_store(sweep: Sweep, points: Any) -> None:
    assert set(sweep.calls) <= {*CHANGING, *READING, *points.OTHER_NAMES.values(), *points.HARMLESS}


def test_killed_in_a_trim_leaves_the_old_log_or_the_new_one(sweep: Sweep) -> None:
    calls = ("write", "fsync", "link", "rename", "unlink", "pwrite64")
    at = [(call, number) for call in calls for number in sweep.numbers(call)]
    ended = sweep.points.at_once(lambda point: sweep.killed(*point), at)
    assert all(killed for killed, _ in ended)
    assert {new for _, new in ended} == {True, False}


@pytest.mark.sweep
@pytest.mark.parametrize("call", [*CHANGING, *READING])
def test_killed_at_every_call_of_a_trim(sweep: Sweep, call: str) -> None:
    for number in sweep.numbers(call):
        sweep.killed(call, number)


@pytest.mark.parametrize("fault", ["error=ENOSPC", "error=EIO"])
@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_call_that_fails_leaves_a_log_that_goes_on(sweep: Sweep, call: str, fault: str) -> None:
    """A full or broken disk: the caller is told, unless the trim was done, and the log is one of the two."""
    for number in sweep.numbers(call):
        place = sweep.copy(f"{call}-{number}-fails")
        command = [*sweep.points.strace(call, f"{fault}:when={number}"), sys.executable, str(SCRIPT), str(place)]
        ran = run(command, env=sweep.environment, capture_output=True, text=True)
        assert ran.returncode == 0 or "StorageError" in ran.stderr, ran.stderr
        asyncio.run(sweep.look(FileStore(place), told=bool(ran.stdout)))


def test_a_stopped_owner_never_puts_its_log_over_another_owners(sweep: Sweep) -> None:
    """Stopped right behind each look at its owner file, the last one just before the rename; another owner takes over
    and writes; then the first goes on."""
    ended: list[str] = []
    while not ended or ended[-1] != "never met":
        ended.append(asyncio.run(_stopped(sweep, len(ended) + 1)))
    assert ended.count("lost") >= 2
    assert ended.count("trimmed") >= 1


async def _stopped(sweep: Sweep, number: int) -> str:
    """Stops at one look and gives what the stopped owner said; ``never met`` when it does not look so often."""
    place = sweep.copy(f"stopped-{number}")
    store, trace = FileStore(place), place / "trace"
    looked = ["-P", str(place / "sessions/trip/owner.2.json"), f"-einject=newfstatat:signal=SIGSTOP:when={number}"]
    command = ["strace", "-f", "-o", str(trace), *looked, sys.executable, str(SCRIPT), str(place), "200"]
    process = Popen(command, env=sweep.environment, stdout=subprocess.PIPE)
    met = False
    try:
        async with asyncio.timeout(30):
            while process.poll() is None and not (
                met := trace.exists() and "stopped by SIGSTOP" in trace.read_text().partition("SIGSTOP {")[2]
            ):
                await asyncio.sleep(0.005)
            while True:
                try:
                    claim = await store.claim("trip", "second")
                    break
                except SessionBusyError:
                    await asyncio.sleep(0.01)
        head = (await store.read("trip")).head
        await store.append(claim, [r.Batch(head + 1, claim.epoch, AT, (r.Claimed("second"), r.BusinessState("kept")))])
        process.send_signal(signal.SIGCONT)
        said = (await asyncio.to_thread(process.communicate))[0].decode().strip()
        await store.append(claim, [r.Batch(head + 2, claim.epoch, AT, (r.Note("n", "more"),))])
        await store.release(claim)
    finally:
        process.kill()
        process.wait()
    found = await store.read("trip")
    assert (found.head, found.holes) == (head + 2, ())
    assert (await read_session(store, "trip")).business_state == "kept"
    return said if met else "never met"
