"""Twenty sessions over one database, through the writer's thread, killed at no particular moment: each comes to its end, once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen

SESSIONS = [f"s{number:02}" for number in range(20)]


def effects(job: Any) -> int:
    return job.effects.read_bytes().count(b"\n") if job.effects.exists() else 0


def until_killed(job: Any, lines: int, crash: Any) -> Any:
    """Runs the crowd until its effects have so many lines more, then kills it; or to its end."""
    words = [sys.executable, str(crash.VICTIM), "crowd", str(job.store), str(job.effects)]
    before = effects(job)
    process = Popen(words, env=crash.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and effects(job) < before + lines:
        pass
    process.send_signal(signal.SIGKILL)
    out, err = process.communicate()
    return crash.ran_of(subprocess.CompletedProcess(words, process.returncode, out, err))


def killed_at_random(folder: Path, seed: int, crash: Any) -> int:
    """Kills until the crowd has come to its end; gives how often."""
    chance = random.Random(seed)
    whole = crash.Job(folder / "whole", session="s00", database=True)
    assert whole.process("crowd").code == 0
    expected = crash.transcript(crash.fold(whole.batches()))
    jobs = [crash.Job(folder / "killed", session=name, database=True) for name in SESSIONS]
    told: list[Any] = []
    before: list[Any] = []
    kills = 0
    while True:
        ran = until_killed(jobs[0], chance.randrange(1, 45), crash)
        told += ran.told
        if ran.code == 0:
            break
        assert ran.code == -signal.SIGKILL, ran
        kills += 1
        before.append([crash.look(job, told) for job in jobs])
    for number, job in enumerate(jobs):
        crash.look(job, told)
        if before:
            first, *further = (evidence[number] for evidence in before)
            crash.compare(job, first, expected, kills, further=further)
        assert Counter(ran.all("done"))[job.session] <= 1
    return kills


@pytest.mark.slow
def test_twenty_sessions_over_one_database_survive_kills(tmp_path: Path, crash: Any) -> None:
    """A process has to start for each kill, and each session is looked at behind each."""
    assert killed_at_random(tmp_path, 0, crash), "it was killed at least once; how often is up to the machine"


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 20))
def test_twenty_sessions_over_one_database_survive_many_kills(tmp_path: Path, seed: int, crash: Any) -> None:
    assert killed_at_random(tmp_path, seed, crash)
