"""Killed at every call that writes to a database: another process goes on to the same end.

CI takes some points of each kind of call; ``pytest -m sweep tests/crash`` takes all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CHANGING = ("openat", "pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "chmod", "flock", "writev", "close", "fchown")
LOCKING = ("fcntl", "mmap")
READING = ("pread64", "newfstatat")
HARMLESS = {"mkdir", "munmap"}


@pytest.fixture(scope="session")
def in_database(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """The sweep over a whole run on a database that is not there yet."""
    return points.Sweep(tmp_path_factory.mktemp("in-database"), "run", expected, database=True)


def test_the_sweep_covers_every_kind_of_call_that_touches_a_database(in_database: Any, points: Any) -> None:
    known = {*CHANGING, *LOCKING, *READING, *HARMLESS, *points.OTHER_NAMES.values(), *points.HARMLESS}
    assert set(in_database.calls) <= known
    assert len(in_database.numbers("pwrite64")) > 20


@pytest.mark.parametrize("call", CHANGING)
def test_killed_in_a_run_ends_the_same(in_database: Any, call: str) -> None:
    assert in_database.every(call, 5)


@pytest.mark.parametrize("call", LOCKING)
def test_killed_at_a_lock_ends_the_same(in_database: Any, call: str) -> None:
    assert in_database.every(call, 30)


@pytest.mark.sweep
@pytest.mark.parametrize("call", [*CHANGING, *LOCKING, *READING])
def test_killed_in_a_run_at_every_point(tmp_path: Path, points: Any, expected: list[Any], call: str) -> None:
    assert points.Sweep(tmp_path, "run", expected, database=True).every(call, 1)


@pytest.fixture(scope="session")
def killed_in_batch(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """A job killed when the second of its calls had a result and the first still ran."""
    sweep = points.Sweep(tmp_path_factory.mktemp("database-in-batch"), "run", expected, database=True)
    return sweep.find("pwrite64", lambda left: left.results == {"c2"})


@pytest.fixture(scope="session")
def killed_approved(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """A job killed when its gated call was approved and running."""
    sweep = points.Sweep(tmp_path_factory.mktemp("database-approved"), "run", expected, database=True)
    return sweep.find("writev", lambda left: left.effects["start c3"] and "c3" not in left.results)


@pytest.fixture(scope="session", params=["killed_in_batch", "killed_approved"])
def going_on(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """The sweep over the process that goes on with a job which was killed before: its log was never tidied away."""
    template = request.getfixturevalue(request.param)
    return points.Sweep(tmp_path_factory.mktemp("database-going-on"), "end", expected, template=template, database=True)


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "unlink"])
def test_killed_again_while_going_on_ends_the_same(going_on: Any, call: str) -> None:
    assert going_on.every(call, 6)


@pytest.mark.sweep
@pytest.mark.parametrize("call", [*CHANGING, *LOCKING])
def test_killed_again_while_going_on_at_every_point(going_on: Any, call: str) -> None:
    going_on.every(call, 1)


@pytest.fixture(scope="session")
def never_twice(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    return points.Sweep(tmp_path_factory.mktemp("database-never-twice"), "run", expected, replay="never", database=True)


@pytest.mark.parametrize("call", ["pwrite64", "writev", "fdatasync"])
def test_a_tool_that_must_not_run_twice_never_does(never_twice: Any, call: str) -> None:
    assert never_twice.every(call, 6)


@pytest.fixture(scope="session")
def forking(tmp_path_factory: pytest.TempPathFactory, points: Any, crash: Any, expected: list[Any]) -> Any:
    source = crash.Job(tmp_path_factory.mktemp("database-source"), database=True)
    assert source.process("run").code == 0
    return points.Sweep(tmp_path_factory.mktemp("database-forking"), "fork", expected, template=source, session="copy", database=True)


def test_a_fork_that_was_killed_is_whole_or_not_there_and_its_source_never_changes(forking: Any) -> None:
    assert forking.every("pwrite64", 6)
