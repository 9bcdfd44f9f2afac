"""Sweeps: the same work over and over, each time killed at the next call of one kind, then gone on with and compared.

strace counts each kind of call alone and each thread alone, so a sweep takes one kind and counts the main
thread's. A reference trace says which numbers touch the store. A kill comes before its call is carried out.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from crash_job import (  # type: ignore[import-not-found]  # conftest loads it under this name
    Evidence,
    Job,
    Ran,
    commands_work,
    compare,
    fork_leaves_source_alone,
    look,
    nothing_again,
)

KILLED = -9

CHANGING = ("openat", "write", "writev", "pwrite64", "fsync", "fdatasync", "link", "rename", "unlink", "mkdir", "chmod", "flock", "close")
READING = ("read", "pread64", "lseek", "newfstatat", "getdents64")
OTHER_NAMES = {"link": "linkat", "rename": "renameat", "unlink": "unlinkat", "mkdir": "mkdirat", "chmod": "fchmodat"}
"""What some calls are named on machines that have only the newer ones."""

HARMLESS = {"fcntl", "fstat", "lstat", "stat", "statx", "ioctl", "readlink", "access", "getcwd", "dup", "mmap", "fstatfs", "statfs"}
"""Calls that name a store's path and change nothing of it."""


class Sweep:
    """One kind of work, done each time in a new folder: on an empty store, or on a copy of ``template``."""

    def __init__(self, folder: Path, what: str, expected: list[Any], template: Job | None = None, **job: Any) -> None:
        if not can_trace():
            pytest.skip("strace is not there, or may not trace")
        self.folder, self._kept, self.what, self.expected, self.template, self._job = quick(folder), folder, what, expected, template, job
        self.before = look(template, ()) if template and what == "end" else None
        self.calls = self._calls()

    def job(self, name: str) -> Job:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        if self.template:
            shutil.copytree(self.template.folder, folder)
        return Job(folder, counted=True, **self._job)

    def _keep(self, job: Job) -> Path:
        return Path(shutil.copytree(job.folder, self._kept / job.folder.name, dirs_exist_ok=True))

    def _calls(self) -> dict[str, range]:
        self.job("compiles").process(self.what)
        job = self.job("reference")
        trace = self.folder / "trace"
        ran = job.process(self.what, "strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=%file,%desc")
        assert ran.code == 0, ran
        return calls_in(trace.read_text(), str(job.folder))

    def name(self, call: str) -> str:
        return call if call in self.calls else OTHER_NAMES.get(call, call)

    def numbers(self, call: str) -> list[int]:
        """The numbers of this kind of call, from the first to the last that touches the store."""
        return list(self.calls.get(self.name(call), ()))

    def killed(self, call: str, number: int) -> tuple[Job, Ran]:
        """A job that was killed at a point, if it came to it."""
        job = self.job(f"{call}-{number}")
        return job, job.process(self.what, *strace(self.name(call), f"signal=KILL:when={number}"))

    def point(self, call: str, number: int, *, thorough: bool = False) -> bool:
        """Kills at one point, looks, goes on and compares; False when the work ended before it came to it."""
        job, ran = self.killed(call, number)
        try:
            if ran.code != KILLED:
                assert ran.code == 0, ran
                return False
            self.check(job, ran, thorough=thorough)
        except AssertionError as error:
            error.add_note(f"{self.what!r} was killed at {call} number {number}; what it left is in {self._keep(job)}")
            raise
        job.remove()
        return True

    def check(self, job: Job, ran: Ran, *, thorough: bool = False) -> None:
        """What must hold of a job that was cut short, now and after another process went on."""
        evidence = look(job, ran.told)
        if thorough:
            commands_work(job)
        again = job.process("fork" if self.what == "fork" else "end")
        assert again.code == 0, again
        look(job, [*ran.told, *again.told])
        compare(job, evidence, self.expected, 2 if self.before else 1)
        if self.before:
            assert self.before.results <= evidence.results
            nothing_again(self.before, job.done())
        if self.what == "fork":
            assert self.template
            assert job.stored(self.template.session) == self.template.stored()
        else:
            asyncio.run(fork_leaves_source_alone(job))

    def every(self, call: str, step: int, thorough: int = 8) -> int:
        """Every ``step``-th point, and with 1 on until the work ends by itself; gives how many.

        ``thorough``: the commands, which are slow, are tried at each so many-th of them.
        """
        numbers = self.numbers(call)[::step]
        killed: int = sum(at_once(lambda at: self.point(call, at[1], thorough=at[0] % thorough == 0), enumerate(numbers)))
        while step == 1 and numbers and self.point(call, numbers[-1] + 1):
            numbers.append(numbers[-1] + 1)
            killed += 1
        return killed

    def failing(self, call: str, number: int, fault: str) -> str | None:
        """Lets one call fail, or this one and all behind it (``fault`` ends in ``+``); gives the code the caller got, None for none."""
        job = self.job(f"{call}-{number}-{fault.strip('+')}")
        ran = job.process(self.what, *strace(self.name(call), f"{fault.strip('+')}:when={number}{'+' if fault.endswith('+') else ''}"))
        try:
            code = code_of(ran)
            self.check(job, ran)
        except AssertionError as error:
            error.add_note(f"{self.what!r} met {fault} at {call} number {number}; what it left is in {self._keep(job)}")
            raise
        job.remove()
        return code

    def find(self, call: str, wanted: Callable[[Evidence], bool]) -> Job:
        """The first job killed at such a call whose evidence is as wanted."""
        for number in self.numbers(call):
            job, ran = self.killed(call, number)
            if ran.code == KILLED and wanted(look(job, ran.told)):
                return job
        raise AssertionError("no point leaves what is wanted")


def quick(folder: Path) -> Path:
    """A folder whose syncs take no time, for this process only; the one given where the system has none.

    A sweep syncs some thousand times, and on a disk that others keep busy each may take long. A kill finds the same there: it
    comes before a call is carried out, and what was written is there whether it was synced or not.
    """
    shared = Path("/dev/shm")
    if not (os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 50_000_000):
        return folder
    made = Path(tempfile.mkdtemp(prefix="lousho-", dir=shared))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def code_of(ran: Ran) -> str | None:
    """The code of the error a caller got, None when there was none. Anything but one of our errors is a failure."""
    assert "Traceback" not in ran.err, ran
    assert ran.code in (0, 1), ran
    codes = ran.all("error")
    assert len(codes) == ran.code, ran
    assert all(code.startswith("LOUSHO_") for code in codes), ran
    return codes[0] if codes else None


def at_once(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Does the work for each item, on all processors unless the tests themselves are spread over them."""
    with ThreadPoolExecutor(1 if "PYTEST_XDIST_WORKER" in os.environ else os.cpu_count()) as pool:
        return list(pool.map(work, items))


@cache
def can_trace() -> bool:
    return shutil.which("strace") is not None and not subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False).returncode


def strace(call: str, what: str, *paths: Path) -> list[str]:
    """The words that run a command with something done to one kind of its calls, only to those on ``paths`` where given."""
    only = [word for path in paths for word in ("-P", str(path))]
    return ["strace", "-f", "-qq", "-o", "/dev/null", *only, "-e", f"trace={call}", "-e", f"inject={call}:{what}"]


_CALL = re.compile(r"(\d+) +(\w+)\((.*)")


def calls_in(trace: str, path: str) -> dict[str, range]:
    """From a trace, for each kind of call of the main thread the numbers from the first to the last that name ``path``."""
    counts: Counter[str] = Counter()
    spans: dict[str, range] = {}
    main = trace.split(None, 1)[0]
    for line in trace.splitlines():
        found = _CALL.match(line)
        if found is None or found[1] != main or found[2] == "execve":
            continue
        counts[found[2]] += 1
        if path in found[3]:
            first = spans[found[2]].start if found[2] in spans else counts[found[2]]
            spans[found[2]] = range(first, counts[found[2]] + 1)
    return spans
