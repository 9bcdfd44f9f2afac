"""A person at a command line in an empty folder, and stores with sessions in them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lousho_cli.__main__ import main
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.usage import CallUsage
from lousho_cli.stores.file.store import FileStore

ROOT = Path(__file__).parents[2]


class Ran(NamedTuple):
    """What a command line gave: its exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The envelope's data; stdout must be one JSON document."""
        return json.loads(self.out)["data"]


Lousho = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder below an empty home, and an environment that says nothing."""
    home = tmp_path / "home"
    here = home / "work"
    here.mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("LOUSHO_", "XDG_")) or name in {"NO_COLOR", "FORCE_COLOR", "OPENAI_API_KEY", "COLUMNS"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def lousho(folder: Path, capsys: pytest.CaptureFixture[str]) -> Lousho:
    """Runs a command line in this process."""

    def run(*args: str) -> Ran:
        capsys.readouterr()
        code = main(list(args))
        return Ran(int(code), *capsys.readouterr())

    return run


@pytest.fixture
def process(folder: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs a command line in a process of its own, for what only a real one shows."""

    def run(*args: str, environ: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "timeout": 30} | options
        command = [sys.executable, "-m", "lousho_cli", *args]
        return subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)} | (environ or {}), check=False, **options)

    return run


Batches = Sequence[Sequence[r.Record]]
Store = Callable[..., None]


@pytest.fixture
def store(folder: Path) -> Store:
    """Appends batches of records to a session, as an owner would."""

    def write(session: str, batches: Batches, *, path: str = ".lousho", at: str = "2026-01-02T03:04:05.000Z") -> None:
        asyncio.run(_write(FileStore(folder / path), session, batches, at))

    return write


async def _write(store: FileStore, session: str, batches: Batches, at: str) -> None:
    claim = await store.claim(session, "test")
    head = (await store.read(session)).head
    first, *rest = batches
    lines = [r.Batch(head + 1 + i, claim.epoch, at, tuple(records)) for i, records in enumerate([[r.Claimed("test"), *first], *rest])]
    for line in lines:
        await store.append(claim, [line])
    await store.save_head(claim, head_of(fold((await store.read(session)).batches)))
    await store.release(claim)


@pytest.fixture
def trip() -> Callable[..., Batches]:
    """The records of a run of two steps: a call of ``weather``, its result, an answer."""
    return trip_records


def trip_records(
    *, forecast: str = '{"forecast":"sun"}', answer: str = "Sunny: take the coast.", city: str = "Lisbon", call: str = "call_weather"
) -> Batches:
    start = [
        r.Created("trip"),
        r.InputReceived("in-1", (user("Plan my trip"),)),
        r.InputApplied("in-1"),
        r.RunStarted("in-1", fingerprint=Fingerprint("0123456789abcdef"), offered=("weather",), agent_id="trip", model="m"),
    ]
    calls = (ToolCall(call, "weather", json.dumps({"city": city})),)
    asks = Message("assistant", "Let me look.", tool_calls=calls)
    return [
        start,
        [r.Turn(asks, "tool_calls", "m", CallUsage(40, 12)), r.Mark(1)],
        [r.ToolStarted(call)],
        [r.ToolFinished(call, forecast), r.Mark(1)],
        [
            r.Turn(Message("assistant", answer), "stop", "m", CallUsage(60, 8)),
            r.Mark(2, "finished", "stop"),
            r.InputSettled("in-1", "completed"),
        ],
    ]


@pytest.fixture
def waiting() -> Callable[..., Batches]:
    """The records of a run that waits for a person."""
    return waiting_records


def waiting_records(approval: str = "7f3a9c1e2b4d", tool: str = "book_table", args: Any = None) -> Batches:
    call = ToolCall("call_book", tool, json.dumps(args or {"seats": 2}))
    wait = PendingApproval(approval, "call_book", tool, args or {"seats": 2}, "d1", "2026-01-02T03:04:05.000Z", session_id="booking")
    return [
        [
            r.Created("booking"),
            r.InputReceived("in-1", (user("Book"),)),
            r.InputApplied("in-1"),
            r.RunStarted("in-1", agent_id="booking"),
        ],
        [r.Turn(Message("assistant", "", tool_calls=(call,)), "tool_calls"), r.Mark(1)],
        [r.WaitOpened(wait), r.Mark(1, "awaiting-approval", "awaiting-approval", approval)],
    ]
