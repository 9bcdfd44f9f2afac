"""What the property tests share: disks of every kind, and how many examples each is given."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def _load(file: str) -> ModuleType:
    """A helper beside this file, under a name of its own: in this import mode tests can not import each other."""
    spec = importlib.util.spec_from_file_location(f"properties_{file}", Path(__file__).with_name(f"{file}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_FILES = ("disk", "plain_disk", "wires", "parts", "promises", "world", "scenario")
disk_module, plain_module, _, _, _, world_module, scenario_module = map(_load, _FILES)  # in this order: each may name those before it

SHARE = {"memory": 1.0, "plain": 1.0, "file": 0.3, "sqlite": 0.3}
"""How many of the examples a kind of disk is given: one that syncs takes longer over each."""


@pytest.fixture
def profile() -> settings:
    """A busy machine makes an example slow, not wrong; and what is played is the same every time."""
    return settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=True)


@pytest.fixture
def examples(kind: str) -> Callable[[int], int]:
    """How many of so many examples this disk is given."""
    return lambda count: round(count * SHARE[kind])


@pytest.fixture(scope="session")
def worlds() -> Any:
    """The module ``world``: what may happen, and what must hold."""
    return world_module


@pytest.fixture(scope="session")
def scenarios() -> Any:
    """The module ``scenario``: a conversation, whatever dies."""
    return scenario_module


@pytest.fixture(scope="session")
def death() -> Any:
    return disk_module.Death


@pytest.fixture
def new_disk(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Any]:
    """Makes an empty disk of this kind."""
    if kind == "plain":
        return lambda: plain_module.PlainDisk(disk_module.Dead)
    if kind == "sqlite":
        pytest.importorskip("lousho_cli.stores.sqlite.store")
    return lambda: disk_module.DISKS[kind](tmp_path_factory.mktemp("disk"))
