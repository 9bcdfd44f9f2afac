"""Killed at every write: whatever was being done to a file, another process goes on to the same end.

CI takes every third point; ``pytest -m sweep tests/crash`` takes all of them, reading calls too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CHANGING = ("openat", "write", "writev", "pwrite64", "fsync", "fdatasync", "link", "rename", "unlink", "mkdir", "chmod", "flock", "close")
READING = ("read", "pread64", "lseek", "newfstatat", "getdents64")


def test_the_sweep_covers_every_kind_of_call_that_touches_a_store(running: Any, points: Any) -> None:
    known = {*CHANGING, *READING, *points.OTHER_NAMES.values(), *points.HARMLESS}
    assert set(running.calls) <= known
    assert points.CHANGING == CHANGING
    assert points.READING == READING


@pytest.mark.parametrize("call", CHANGING)
def test_killed_in_a_run_ends_the_same(running: Any, call: str) -> None:
    assert running.every(call, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("call", [*CHANGING, *READING])
def test_killed_in_a_run_at_every_point(tmp_path: Path, points: Any, expected: list[Any], call: str) -> None:
    assert points.Sweep(tmp_path, "run", expected).every(call, 1)


@pytest.fixture(scope="session", params=["killed_in_batch", "killed_waiting", "killed_approved"])
def going_on(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """The sweep over the process that goes on with a job which was killed before."""
    return points.Sweep(tmp_path_factory.mktemp("going-on"), "end", expected, template=request.getfixturevalue(request.param))


@pytest.mark.parametrize("call", ["write", "fdatasync", "writev", "link", "unlink"])
def test_killed_again_while_going_on_ends_the_same(going_on: Any, call: str) -> None:
    assert going_on.every(call, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("call", [*CHANGING, *READING])
def test_killed_again_while_going_on_at_every_point(going_on: Any, call: str) -> None:
    going_on.every(call, 1)


@pytest.fixture(scope="session")
def never_twice(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    return points.Sweep(tmp_path_factory.mktemp("never-twice"), "run", expected, replay="never")


@pytest.mark.parametrize("call", ["write", "writev", "fdatasync"])
def test_a_tool_that_must_not_run_twice_never_does(never_twice: Any, call: str) -> None:
    assert never_twice.every(call, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("call", CHANGING)
def test_a_tool_that_must_not_run_twice_never_does_at_any_point(never_twice: Any, call: str) -> None:
    assert never_twice.every(call, 1)


@pytest.fixture(scope="session")
def two_stores(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    return points.Sweep(tmp_path_factory.mktemp("two-stores"), "run", expected, apart=True)


@pytest.mark.parametrize("call", ["write", "fdatasync", "link"])
def test_killed_with_approvals_in_a_store_of_their_own_ends_the_same(two_stores: Any, call: str) -> None:
    assert two_stores.every(call, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("call", CHANGING)
def test_killed_with_approvals_in_a_store_of_their_own_at_every_point(two_stores: Any, call: str) -> None:
    assert two_stores.every(call, 1)


@pytest.fixture(scope="session")
def forking(tmp_path_factory: pytest.TempPathFactory, points: Any, uninterrupted: Any, expected: list[Any]) -> Any:
    return points.Sweep(tmp_path_factory.mktemp("forking"), "fork", expected, template=uninterrupted, session="copy")


@pytest.mark.parametrize("call", ["write", "fsync", "link", "rename"])
def test_a_fork_that_was_killed_is_whole_or_not_there_and_its_source_never_changes(forking: Any, call: str) -> None:
    assert forking.every(call, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("call", CHANGING)
def test_a_fork_killed_at_every_point(forking: Any, call: str) -> None:
    assert forking.every(call, 1)
