"""A file store in this test's folder, and batches for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lousho_cli
from lousho_cli.domain import records as r
from lousho_cli.stores.file.store import FileStore


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / ".lousho"


@pytest.fixture
def store(place: Path) -> FileStore:
    return FileStore(place)


@pytest.fixture
def batch() -> Callable[..., r.Batch]:
    def make(seq: int, epoch: int = 1, *records: Any, sync: int | None = None) -> r.Batch:
        return r.Batch(seq, epoch, "2026-01-01T00:00:00.000Z", records or (r.Note("n", f"text {seq}"),), sync)

    return make


@pytest.fixture
def child_environment() -> dict[str, str]:
    """An environment in which a child process finds the package under test."""
    return dict(os.environ) | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
