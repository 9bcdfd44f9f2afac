"""What the property tests share."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine makes an example slow, not wrong; and what CI plays is the same every time.
settings.register_profile("properties", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=True)


def _load(file: str) -> ModuleType:
    """A helper beside this file, under a name of its own: in this import mode tests can not import each other."""
    spec = importlib.util.spec_from_file_location(f"properties_{file}", Path(__file__).with_name(f"{file}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


disk_module, world_module = _load("disk"), _load("world")


@pytest.fixture(scope="session")
def worlds() -> Any:
    """The module ``world``: what may happen, and what must hold."""
    return world_module


@pytest.fixture(params=["memory", "file", "sqlite"])
def new_disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes an empty disk of each kind of log store."""
    if request.param == "sqlite":
        pytest.importorskip("lousho_cli.stores.sqlite.store")
    make = disk_module.DISKS[request.param]
    return lambda: make(tmp_path_factory.mktemp("disk"))
