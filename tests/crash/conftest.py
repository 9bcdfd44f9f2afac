"""What the crash tests share."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lousho_cli


def _load(file: str) -> ModuleType:
    """A helper beside this file, under a name of its own: in this import mode tests can not import each other."""
    spec = importlib.util.spec_from_file_location(f"crash_{file}", Path(__file__).with_name(f"{file}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


job_module = _load("job")
points_module = _load("points")


@pytest.fixture(scope="session")
def child_environment() -> dict[str, str]:
    """An environment in which a child process finds the package under test."""
    return dict(os.environ) | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}


@pytest.fixture(scope="session")
def crash() -> Any:
    """The module ``job``: jobs, and what must hold of them."""
    return job_module


@pytest.fixture(scope="session")
def points() -> Any:
    """The module ``points``: sweeps over the points where a job can be killed."""
    return points_module


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, crash: Any) -> Any:
    """A job that nothing happened to."""
    job = crash.Job(tmp_path_factory.mktemp("uninterrupted"))
    ran = job.process("run")
    assert ran.code == 0, ran
    return job


@pytest.fixture(scope="session")
def expected(uninterrupted: Any, crash: Any) -> list[Any]:
    """What is said when nothing happens."""
    said: list[Any] = crash.transcript(crash.fold(uninterrupted.batches()))
    return said


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """The sweep over a whole run on an empty store."""
    return points.Sweep(tmp_path_factory.mktemp("running"), "run", expected)


@pytest.fixture(scope="session")
def killed_in_batch(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """A job killed when the second of its calls had a result and the first still ran."""
    sweep = points.Sweep(tmp_path_factory.mktemp("killed-in-batch"), "run", expected)
    return sweep.find("write", lambda left: left.results == {"c2"})


@pytest.fixture(scope="session")
def killed_waiting(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """A job killed while it waited for a person."""
    sweep = points.Sweep(tmp_path_factory.mktemp("killed-waiting"), "run", expected)
    return sweep.find("pwrite64", lambda left: bool(left.approvals))


@pytest.fixture(scope="session")
def killed_approved(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    """A job killed when its gated call was approved and running."""
    sweep = points.Sweep(tmp_path_factory.mktemp("killed-approved"), "run", expected)
    return sweep.find("writev", lambda left: left.effects["start c3"] and "c3" not in left.results)
