"""A SQLite store in this test's folder, batches for it, and processes that use it too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.domain import records as r
from lousho_cli.stores.sqlite.store import SqliteStore


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lousho.db"


@pytest.fixture
def store(place: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(place)
    yield opened
    opened.close()


@pytest.fixture
def batch() -> Callable[..., r.Batch]:
    def make(seq: int, epoch: int = 1, *records: Any) -> r.Batch:
        return r.Batch(seq, epoch, "2026-01-01T00:00:00.000Z", records or (r.Note("n", f"text {seq}"),))

    return make


@pytest.fixture
def environment() -> dict[str, str]:
    """An environment in which a child process finds the package under test."""
    return dict(os.environ) | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}


Script = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def script(environment: dict[str, str]) -> Iterator[Script]:
    """Starts Python text as a process of its own, with the words behind it as its arguments."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str, *words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", text, *map(str, words)]
        pipe = subprocess.PIPE
        started.append(Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
