"""Kills a victim at every call of one kind, looks at what is left, lets another process go on, and compares.

A ``Job`` is one store and the file its tools leave their effects in. ``look`` takes the evidence right
after a kill and holds what must be true at once; ``compare`` holds what must be true once somebody went
on to the end. Together they are the invariants of the design. Every failure says which point it was.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import lousho_cli
from lousho_cli import AgentExecutor
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.core.transcript import check as check_transcript
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.fsck import check as fsck
from lousho_cli.stores.file.store import FileStore

VICTIM = Path(__file__).with_name("victim.py")
ROOT = Path(lousho_cli.__file__).parents[1]
SESSION = "trip"
KILLED = -9

CHANGING = ("openat", "write", "pwrite64", "fsync", "fdatasync", "link", "rename", "unlink", "mkdir", "chmod", "flock", "close", "utimensat", "ftruncate")
READING = ("read", "pread64", "lseek", "newfstatat", "getdents64")
OTHER_NAMES = {"link": "linkat", "rename": "renameat", "unlink": "unlinkat", "mkdir": "mkdirat", "chmod": "fchmodat"}
"""What some calls are named on machines that have only the newer ones."""


class Ran(NamedTuple):
    """How a process ended: its code, what it told its caller, and what it said on stderr."""

    code: int
    told: tuple[tuple[str, ...], ...]
    err: str

    def all(self, word: str) -> list[str]:
        return [line[1] for line in self.told if line[0] == word]


class Evidence(NamedTuple):
    """What was there right after a kill: turns and results in the log, effects so far, approvals told."""

    turns: int
    results: frozenset[str]
    effects: Counter[str]
    approvals: tuple[str, ...]


class Job:
    """A store in a folder of its own, and the processes that work on it."""

    def __init__(self, folder: Path, session: str = SESSION, replay: str = "safe", python: Sequence[str] = ()) -> None:
        self.folder, self.session, self.replay = folder, session, replay
        self.store = folder / ".lousho"
        self.effects = folder / "effects"
        folder.mkdir(parents=True, exist_ok=True)
        self._python = python

    def process(self, what: str, *before: str, env: dict[str, str] | None = None) -> Ran:
        """Runs the victim to its end or its death, behind the words ``before``."""
        words = [*before, sys.executable, *self._python, str(VICTIM), what, str(self.store), str(self.effects), "--replay", self.replay]
        done = subprocess.run(words, env=environment() | (env or {}), capture_output=True, text=True, timeout=60, check=False)
        return Ran(done.returncode, tuple(tuple(line.split()) for line in done.stdout.splitlines()), done.stderr)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a ``lousho`` command on the store."""
        line = [sys.executable, "-m", "lousho_cli", *words, "--json", "--store", str(self.store)]
        return subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=60, check=False)

    def batches(self) -> tuple[r.Batch, ...]:
        found = asyncio.run(FileStore(self.store).read(self.session))
        assert not found.holes
        return found.batches

    def log(self) -> Path:
        return self.store / "sessions" / self.session / "log.jsonl"

    def done(self) -> Counter[str]:
        """What was done in the world, line by line."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return Counter(line.replace(f" {self.session} ", " ") for line in lines if f" {self.session} " in line)

    def remove(self) -> None:
        shutil.rmtree(self.folder)


def environment() -> dict[str, str]:
    """That of a process which finds the package, uses compiled files and behaves the same each time."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LOUSHO_", "COV"))}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}


def transcript(session: Session) -> list[Any]:
    """What was said, without what differs from run to run."""
    return [(m.role, m.content, m.tool_calls, m.tool_call_id, m.tool_name, m.is_error, _approved(m)) for m in session.messages]


def _approved(message: Any) -> Any:
    marker = (message.metadata or {}).get("approval")
    return marker and (marker["approved"], marker["edited"], marker.get("by"))


def records(batches: Iterable[r.Batch], kind: type) -> list[Any]:
    return [record for batch in batches for record in batch.records if isinstance(record, kind)]


def look(job: Job, told: Iterable[tuple[str, ...]]) -> Evidence:
    """What a kill left, held against what had been told before it."""
    told = list(told)
    batches = job.batches()
    session = fold(batches)
    saved = [int(line[1]) for line in told if line[0] == "saved" and line[2] == job.session]
    approvals = tuple(line[1] for line in told if line[0] in ("approval", "paused"))
    opened = {record.approval.id for record in records(batches, r.WaitOpened)}
    assert session.seq >= max(saved, default=0), "a saved step is gone"
    assert set(approvals) <= opened, "an approval that was told is gone"
    assert session.ended or ("done", job.session) not in told, "an end that was told is gone"
    _sound(batches)
    asyncio.run(_readable(job, batches, session))
    results = frozenset(record.id for record in records(batches, r.ToolFinished))
    return Evidence(session.turns, results, job.done(), approvals)


def compare(job: Job, before: Evidence, expected: list[Any], rounds: int = 1) -> None:
    """What must hold once ``rounds`` further processes, all but the last killed too, have gone on to the end."""
    batches = job.batches()
    session = fold(batches)
    assert session.ended
    assert session.outcome == "completed"
    _sound(batches)
    assert_same(transcript(session), expected, job.replay)
    assert check_transcript(session.messages) is None
    done = job.done()
    finished = [record.id for record in records(batches, r.ToolFinished)]
    assert len(finished) == len(set(finished)), "two results of one call"
    assert len(records(batches, r.Turn)) == session.turns
    for call in set(finished):
        most = 1 if job.replay == "never" else 1 + rounds
        assert done[f"start {call}"] <= most, f"{call} ran {done[f'start {call}']} times"
    for call in before.results:
        assert done[f"start {call}"] == before.effects[f"start {call}"], f"{call} had a result and ran again"
    for turn in range(before.turns):
        assert done[f"model {turn}"] == before.effects[f"model {turn}"], f"turn {turn} was in the log and was asked for again"
    answered = records(batches, r.WaitAnswered)
    assert len(answered) == len({record.id for record in answered}) == len(session.decided), "an approval was decided twice"
    assert len(records(batches, r.WaitOpened)) == len(answered)
    assert set(before.approvals) <= {record.id for record in answered}
    asyncio.run(_readable(job, batches, session))


def assert_same(found: list[Any], expected: list[Any], replay: str) -> None:
    """The same transcript; where a tool must not run twice, a cut call may say that nobody knows instead."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        unknown = replay == "never" and one[0] == "tool" and one[5] and INTERRUPTED_TOOL_RESULT in one[1]
        if not unknown:
            assert one == other
        else:
            assert (one[0], one[3], one[4]) == (other[0], other[3], other[4])


def _sound(batches: Sequence[r.Batch]) -> None:
    """Order, epochs, and a fold that does not care where it was interrupted."""
    assert [batch.seq for batch in batches] == list(range(1, len(batches) + 1))
    epochs = [batch.epoch for batch in batches]
    assert epochs == sorted(epochs), "owners interleave"
    whole = fold(batches)
    for cut in range(len(batches)):
        half = fold(batches[:cut])
        assert check_transcript(half.messages, open_tail=True) is None
        assert state_from(fold(batches[cut:], half)) == state_from(whole)


async def _readable(job: Job, batches: Sequence[r.Batch], session: Session) -> None:
    """What a person would look with works, and says the same as the log."""
    store = FileStore(job.store)
    listed = {head.id: head for head in (await store.heads()).heads}
    assert not (await store.heads()).damaged
    assert not [finding for finding in await fsck(store) if finding.serious]
    assert state_from(await read_session(store, job.session)) == state_from(session)
    if not batches:
        assert job.session not in listed
        return
    head = listed[job.session]
    real = head_of(session)
    assert (head.seq, head.step, head.status, head.outcome) == (real.seq, real.step, real.status, real.outcome)
    assert head.waits_for == real.waits_for
    assert [wait.id for wait in await store.approvals.list()] == ([session.wait.id] if session.wait else [])
    checkpoint = await store.checkpoints.load(job.session)
    history = await store.checkpoints.history(job.session)
    assert (checkpoint is None) == (session.latest is None)
    assert len(history) == min(len(records(batches, r.Mark)), store.history_limit)
    if checkpoint is not None:
        assert history[0].checkpoint == checkpoint


def commands_work(job: Job) -> None:
    """``list``, ``show``, ``history`` and ``fsck`` answer, whatever happened."""
    there = bool(job.batches())
    for words in (["list"], ["fsck"], ["show", job.session], ["history", job.session]):
        done = job.command(*words)
        assert "Traceback" not in done.stderr
        assert done.returncode == (0 if there or len(words) == 1 else 3), (words, done)


async def fork_leaves_source_alone(job: Job) -> None:
    before = job.log().read_bytes()
    store = FileStore(job.store)
    forked = await AgentExecutor.fork(job.session, 1, store.checkpoints)
    assert job.log().read_bytes() == before
    assert (await read_session(store, forked.session_id)).status == "in-progress"


# Points


class Sweep:
    """All points of one kind of work: ``what`` is done on a copy of ``template`` and killed at each call of each kind."""

    def __init__(self, folder: Path, what: str, expected: list[Any], template: Job | None = None, replay: str = "safe", session: str = SESSION) -> None:
        self.folder, self.what, self.expected, self.template, self.replay, self.session = folder, what, expected, template, replay, session
        self._before = look(template, ()) if template else None
        self.calls = self._calls()

    def job(self, name: str) -> Job:
        job = Job(self.folder / name, self.session, self.replay)
        if self.template:
            shutil.copytree(self.template.folder, job.folder, dirs_exist_ok=True)
        return job

    def _calls(self) -> dict[str, range]:
        """For each kind of call, the first and the last of the main thread that touch the store."""
        self.job("warm").process(self.what)  # so that everything is compiled
        job = self.job("reference")
        trace = job.folder / "trace"
        ran = job.process(self.what, "strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=%file,%desc")
        assert ran.code == 0, ran
        return calls_in(trace.read_text(), str(job.folder))

    def points(self, call: str) -> Iterator[int]:
        span = self.calls.get(call) or self.calls.get(OTHER_NAMES.get(call, ""))
        return iter(span or ())

    def name(self, call: str) -> str:
        return call if call in self.calls else OTHER_NAMES.get(call, call)

    def kill(self, call: str, number: int, *, thorough: bool = False) -> bool:
        """One point; False when the victim ended before it came to it."""
        job = self.job(f"{call}-{number}")
        ran = job.process(self.what, *strace(self.name(call), f"signal=KILL:when={number}"))
        try:
            if ran.code != KILLED:
                assert ran.code == 0, ran
                return False
            evidence = look(job, ran.told)
            if thorough:
                commands_work(job)
            again = job.process("fork" if self.what == "fork" else "end")
            assert again.code == 0, again
            look(job, [*ran.told, *again.told])
            rounds = 1
            if self._before is not None:  # the template was a kill too
                rounds, evidence = 2, self._joined(evidence)
            compare(job, evidence, self.expected, rounds)
            asyncio.run(fork_leaves_source_alone(job))
        except AssertionError as error:
            error.add_note(f"killed at {call} number {number} of {self.what!r}, left in {job.folder}")
            raise
        job.remove()
        return True

    def _joined(self, evidence: Evidence) -> Evidence:
        assert self._before is not None
        assert self._before.results <= evidence.results
        return evidence

    def every(self, call: str, step: int, *, thorough: int) -> int:
        """Kills at every ``step``-th point; gives how many there were. ``thorough``: how often the commands are tried too."""
        points = list(self.points(call))[:: step]
        with ThreadPoolExecutor(1 if "PYTEST_XDIST_WORKER" in os.environ else os.cpu_count()) as pool:
            killed = sum(pool.map(lambda at: self.kill(call, at[1], thorough=at[0] % thorough == 0), enumerate(points)))
        if step == 1 and points:
            last = points[-1] + 1
            while self.kill(call, last):
                last += 1
                killed += 1
        return killed


def strace(call: str, what: str) -> list[str]:
    """The words that run a command with something done to one kind of its calls."""
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{what}"]


_CALL = re.compile(r"(\d+) +(\w+)\((.*)")


def calls_in(trace: str, path: str) -> dict[str, range]:
    """From a trace, for each kind of call of the main thread the numbers from the first to the last that name ``path``."""
    counts: Counter[str] = Counter()
    spans: dict[str, range] = {}
    main = trace.split(None, 1)[0]
    for line in trace.splitlines():
        found = _CALL.match(line)
        if found is None or found[1] != main:
            continue
        counts[found[2]] += 1
        if path in found[3]:
            first = spans[found[2]].start if found[2] in spans else counts[found[2]]
            spans[found[2]] = range(first, counts[found[2]] + 1)
    spans.pop("execve", None)
    return spans
