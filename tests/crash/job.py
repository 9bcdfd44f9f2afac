"""One job, what a kill left of it, and what must hold once somebody went on: the invariants of the design.

A ``Job`` is one store and the file its tools leave their effects in. ``look`` takes the evidence right
after a kill and holds what must be true at once; ``compare`` holds what must be true at the end.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from warm_process import run

import lousho_cli
from lousho_cli import AgentExecutor
from lousho_cli.app.wiring import inspect_logs
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.core.transcript import check as check_transcript
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore

VICTIM = Path(__file__).with_name("victim.py")
ROOT = Path(lousho_cli.__file__).parents[1]
SESSION = "trip"
KILLED = -9


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
    """A store in a folder of its own, and the processes that work on it.

    ``replay`` is what its tools say of running twice. ``apart``: approvals are kept in a second store.
    ``database``: the store is a SQLite file. ``counted``: its calls are those of the main thread, however busy the machine is.
    """

    def __init__(
        self,
        folder: Path,
        session: str = SESSION,
        replay: str = "safe",
        *,
        apart: bool = False,
        database: bool = False,
        counted: bool = False,
    ) -> None:
        self.folder, self.session, self.replay, self.apart, self.database = folder, session, replay, apart, database
        self.counted = counted
        self.store = folder / ("lousho.db" if database else ".lousho")
        self.effects = folder / "effects"
        folder.mkdir(parents=True, exist_ok=True)

    def process(self, what: str, *before: str) -> Ran:
        """Runs the victim to its end or its death, behind the words ``before``."""
        words = [*before, sys.executable, str(VICTIM), what, str(self.store), str(self.effects), "--replay", self.replay]
        words += ["--apart"] * self.apart + ["--counted"] * self.counted
        return ran_of(run(words, env=environment(), capture_output=True, text=True, timeout=60))

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a ``lousho`` command on the store."""
        url = f"sqlite:{self.store}" if self.database else str(self.store)
        line = [sys.executable, "-m", "lousho_cli", *words, "--json", "--store", url]
        return run(line, env=environment(), capture_output=True, text=True, timeout=60)

    def batches(self) -> tuple[r.Batch, ...]:
        with self.opened() as store:
            found = asyncio.run(store.read(self.session))
        assert not found.holes
        return found.batches

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The store, as another process would open it."""
        if not self.database:
            yield FileStore(self.store)
            return
        store = SqliteStore(self.store)
        yield store
        store.close()

    def stored(self, session: str | None = None) -> list[bytes]:
        """The lines of a log as they stand there, byte by byte."""
        if not self.database:
            return (self.store / "sessions" / (session or self.session) / "log.jsonl").read_bytes().splitlines()
        with closing(sqlite3.connect(self.store)) as connection:
            of = "SELECT no << 24 FROM logs WHERE id = ?"
            lines = f"SELECT CAST(line AS BLOB) FROM batches WHERE key - ({of}) BETWEEN 0 AND 16777215 ORDER BY key"
            return [line for (line,) in connection.execute(lines, (session or self.session,))]

    def log(self) -> Path:
        return self.store / "sessions" / self.session / "log.jsonl"

    def done(self) -> Counter[str]:
        """What was done in the world, line by line."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return Counter(line.replace(f" {self.session} ", " ") for line in lines if f" {self.session} " in line)

    def remove(self) -> None:
        shutil.rmtree(self.folder)


def ran_of(done: subprocess.CompletedProcess[str]) -> Ran:
    """What a process that ran the victim says of it."""
    return Ran(done.returncode, tuple(tuple(line.split()) for line in done.stdout.splitlines()), done.stderr)


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
    opened = {record.approval.id for record in records(batches, r.WaitOpened)} | stored_apart(job)
    assert session.seq >= max(saved, default=0), "a saved step is gone"
    assert set(approvals) <= opened, "an approval that was told is gone"
    assert session.ended or ("done", job.session) not in told, "an end that was told is gone"
    _sound(batches)
    asyncio.run(_readable(job, batches, session))
    results = frozenset(record.id for record in records(batches, r.ToolFinished))
    return Evidence(session.turns, results, job.done(), approvals)


def compare(job: Job, before: Evidence, expected: list[Any], rounds: int = 1, *, further: Iterable[Evidence] = ()) -> None:
    """What must hold once ``rounds`` further processes, all but the last killed too, have gone on to the end.

    ``further``: what else was seen on the way there.
    """
    evidence = [before, *further]
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
    inherited = fold(batches[:1])  # a fork begins with turns and decisions of its parent
    assert len(records(batches, r.Turn)) == session.turns - inherited.turns
    for call in set(finished):
        most = 1 if job.replay == "never" else 1 + rounds
        assert done[f"start {call}"] <= most, f"{call} ran {done[f'start {call}']} times"
    for seen in evidence:
        nothing_again(seen, done)
    asyncio.run(_readable(job, batches, session))
    answered = records(batches, r.WaitAnswered)
    assert len(answered) == len({record.id for record in answered}), "an approval was decided twice"
    assert {record.id for record in answered} == session.decided.keys() - inherited.decided.keys()
    if job.apart:
        return  # an approval that a dead process had taken from its store is asked for again, under a new id
    assert len(records(batches, r.WaitOpened)) == len(answered)
    assert {approval for seen in evidence for approval in seen.approvals} <= {record.id for record in answered}


def stored_apart(job: Job) -> set[str]:
    """Ids of the approvals in the store of their own, decided ones too."""
    sessions = Path(f"{job.store}-approvals") / "sessions"
    return {folder.name.removeprefix("approval-") for folder in sessions.iterdir()} if sessions.exists() else set()


def nothing_again(before: Evidence, done: Counter[str]) -> None:
    """What was in the log is neither run nor asked for again."""
    for call in before.results:
        assert done[f"start {call}"] == before.effects[f"start {call}"], f"{call} had a result and ran again"
    for turn in range(before.turns):
        assert done[f"model {turn}"] == before.effects[f"model {turn}"], f"turn {turn} was in the log and was asked for again"


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
    with job.opened() as store:
        await _reads(job, store, batches, session)


async def _reads(job: Job, store: Any, batches: Sequence[r.Batch], session: Session) -> None:
    heads = await store.heads()
    listed = {head.id: head for head in heads.heads}
    # A log cut within its first line holds nothing that was acknowledged: there is no session yet, and no damage.
    assert heads.damaged == ()
    assert [finding for finding in await inspect_logs(store) if finding.serious] == []
    assert state_from(await read_session(store, job.session)) == state_from(session)
    if not batches:
        assert job.session not in listed
        return
    head = listed[job.session]
    real = head_of(session)
    assert (head.seq, head.step, head.status, head.outcome) == (real.seq, real.step, real.status, real.outcome)
    assert head.waits_for == real.waits_for
    assert [wait.id for wait in await store.approvals.list()] == ([session.wait.id] if session.wait and not session.wait_taken else [])
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
        assert done.returncode in ((0,) if there or len(words) == 1 else (0, 3)), (words, done)


async def fork_leaves_source_alone(job: Job) -> None:
    with job.opened() as store:
        before = job.stored()
        forked = await AgentExecutor.fork(job.session, 1, store.checkpoints)
        assert job.stored() == before
        assert (await read_session(store, forked.session_id)).status == "in-progress"
