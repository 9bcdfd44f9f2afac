"""The stores that the contract suite runs over. A further one is a further entry of ``BACKENDS``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pg_server
import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.domain import records as r
from lousho_cli.ports.log_store import LogStore


def _memory(_place: Path, **options: Any) -> LogStore:
    from lousho_cli.stores.memory import MemoryStore

    return MemoryStore(**options)


def _file(place: Path, **options: Any) -> LogStore:
    from lousho_cli.stores.file.store import FileStore

    return FileStore(place / ".lousho", **options)


def _sqlite(place: Path, **options: Any) -> LogStore:
    from lousho_cli.stores.sqlite.store import SqliteStore

    return SqliteStore(place / "lousho.db", **options)


def _postgres(place: Path, **options: Any) -> LogStore:
    from lousho_cli.stores.postgres.store import PostgresStore

    return PostgresStore(pg_server.place_url(place), **options)


BACKENDS: dict[str, Callable[..., LogStore]] = {"memory": _memory, "file": _file, "sqlite": _sqlite, "postgres": _postgres}
SHARED_BY_PROCESSES = ("file", "sqlite", "postgres")


@pytest.fixture(params=list(BACKENDS))
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., LogStore]]:
    """Opens a new store of the kind under test in this test's folder."""
    opened: list[LogStore] = []

    def make(**options: Any) -> LogStore:
        opened.append(BACKENDS[request.param](tmp_path, **options))
        return opened[-1]

    yield make
    for store in opened if request.param == "postgres" else ():
        store.close()  # type: ignore[attr-defined]


@pytest.fixture
def store(open_store: Callable[..., LogStore]) -> LogStore:
    return open_store()


@pytest.fixture
def batch() -> Callable[..., r.Batch]:
    """Makes a batch; the first of an epoch begins with its claim."""

    def make(seq: int, epoch: int = 1, *records: Any) -> r.Batch:
        return r.Batch(seq, epoch, f"2026-01-01T00:00:00.{seq % 1000:03}Z", records or (r.Note("n", f"text {seq}"),))

    return make


class Process:
    """A store in another process, one command a line."""

    def __init__(self, kind: str, place: Path) -> None:
        script = Path(__file__).with_name("other_process.py")
        self._running = Popen(
            [sys.executable, str(script), kind, pg_server.place_url(place) if kind == "postgres" else str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])},
        )
        self.pid = self._running.pid

    def send(self, command: str, **arguments: Any) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(json.dumps([command, arguments]) + "\n")
        self._running.stdin.flush()

    def answer(self) -> Any:
        assert self._running.stdout is not None
        return json.loads(self._running.stdout.readline())

    def ask(self, command: str, **arguments: Any) -> Any:
        self.send(command, **arguments)
        return self.answer()

    def kill(self) -> None:
        self._running.kill()
        self._running.wait()
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture(params=SHARED_BY_PROCESSES)
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[LogStore, Callable[[], Process]]]:
    """A store in this process, and a function that opens it in another one."""
    started: list[Process] = []

    def start() -> Process:
        started.append(Process(request.param, tmp_path))
        return started[-1]

    store = BACKENDS[request.param](tmp_path)
    yield store, start
    for process in started:
        process.kill()
    if request.param == "postgres":
        store.close()  # type: ignore[attr-defined]
