"""A person at a command line in an empty folder, and stores with sessions in them."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from warm_process import Popen
from warm_process import run as run_process

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
        return run_process(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)} | (environ or {}), **options)

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


# A project with a written model, and tools that count


PROJECT_AGENT = '''
import json, os, time
import msgspec
from lousho_cli import PropagatingToolError, ScriptedProvider
HERE = os.path.dirname(os.path.abspath(__file__))

def _note(word):
    with open(HERE + "/counts.txt", "a") as file:
        file.write(word + "\\n")

def _tool(name):
    def tool(n: int = 0) -> dict:
        """Counts its starts and its ends; waits while a file called hold-NAME is there."""
        _note("start " + name)
        while os.path.exists(HERE + "/hold-" + name):
            time.sleep(0.01)
        _note("end " + name)
        return {"tool": name, "n": n}
    tool.__name__ = name
    return tool


def stopper(n: int = 0):
    raise PropagatingToolError("out of order")

TOOLS = {name: _tool(name) for name in ("a", "b", "c", "d", "e", "gated", "once")} | {"stopper": stopper}
if os.path.exists(HERE + "/mended"):
    TOOLS["stopper"] = _tool("stopper")

class Recorded:
    """The written model; keeps each request, and refuses a transcript that does not pair up, as real ones do."""
    name = model = "written"

    async def stream(self, request):
        from lousho_cli.core.transcript import check
        assert check(request.messages) is None, check(request.messages)
        line = {"messages": [msgspec.to_builtins(m) for m in request.messages], "tools": [t.name for t in request.tools],
                "schemas": [t.schema for t in request.tools], "model": request.model}
        with open(HERE + "/requests.jsonl", "a") as file:
            file.write(json.dumps(line) + "\\n")
        with open(HERE + "/turns.json") as file:
            script = ScriptedProvider(json.load(file))
        async for event in script.stream(request):
            yield event

def runner(name):
    return lambda args: TOOLS[name](**args)

def agent_of(settings):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    made = [{"name": name, "description": name, "input": schema, "execute": runner(name),
             "needs_approval": name in settings["gated"], "replay": "never" if name == "once" else None} for name in settings["tools"]]
    made += settings["builtin"]
    return {"name": "project", "prompt": "Count.", "provider": Recorded(), "tools": made, "policy": settings["policy"],
            "durability": settings["durability"], "notify": settings["notify"]}

with open(HERE + "/settings.json") as file:
    agent = agent_of(json.load(file))
'''


class Project:
    """A folder with an agent: its model answers from a list, its tools count their starts and ends in a file."""

    def __init__(self, folder: Path, lousho: Lousho) -> None:
        self.folder, self.lousho = folder, lousho

    def write(
        self,
        *turns: Any,
        tools: Sequence[str] = ("a", "b", "c"),
        gated: Sequence[str] = (),
        builtin: Sequence[str] = (),
        policy: dict[str, Any] | None = None,
        durability: dict[str, Any] | None = None,
        notify: Sequence[str] = (),
    ) -> None:
        """Writes the agent. A turn is a text, a list of tool names to call with ids ``call_NAME``, or an entry of a script."""
        entries = [_turn(turn) for turn in turns]
        settings = {
            "tools": list(tools),
            "gated": list(gated),
            "builtin": list(builtin),
            "policy": {"tool_concurrency": 1} | (policy or {}),
            "durability": {"retry": False} | (durability or {}),
            "notify": list(notify),
        }
        for name in [name for name in sys.modules if name.startswith("lousho_agent_")]:
            del sys.modules[name]
        (self.folder / "turns.json").write_text(json.dumps(entries))
        (self.folder / "settings.json").write_text(json.dumps(settings))
        (self.folder / "agent.py").write_text(PROJECT_AGENT)

    def run(self, *args: str) -> Ran:
        return self.lousho("run", "agent.py", *args)

    def messages(self, session: str) -> Any:
        return self.lousho("show", session, "--json").data["messages"]

    def log(self, session: str) -> bytes:
        return (self.folder / ".lousho" / "sessions" / session / "log.jsonl").read_bytes()

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Starts and ends of each tool that was started."""
        file = self.folder / "counts.txt"
        words = file.read_text().split("\n") if file.exists() else []
        names = {word.split(" ")[1] for word in words if word}
        return {name: (words.count(f"start {name}"), words.count(f"end {name}")) for name in sorted(names)}

    @property
    def requests(self) -> list[Any]:
        """What the model was asked, each request whole."""
        file = self.folder / "requests.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def hold(self, tool: str) -> None:
        (self.folder / f"hold-{tool}").touch()

    def let_go(self, tool: str) -> None:
        (self.folder / f"hold-{tool}").unlink()

    def until(self, fact: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Waits for a fact and gives it."""
        end = time.monotonic() + seconds
        while not (found := fact()):
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.01)
        return found

    def until_started(self, tool: str, times: int = 1) -> None:
        self.until(lambda: self.counts.get(tool, (0, 0))[0] >= times)


def _turn(turn: Any) -> Any:
    if isinstance(turn, list) and all(isinstance(name, str) for name in turn):
        return {"tool_calls": [{"name": name, "args": {"n": number}, "id": f"call_{name}"} for number, name in enumerate(turn)]}
    return turn


@pytest.fixture
def project(folder: Path, lousho: Lousho) -> Project:
    return Project(folder, lousho)


@pytest.fixture
def spawn(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Begins a command line in a process of its own, which goes on while the test does."""
    running: list[subprocess.Popen[str]] = []

    def begin(*args: str, **options: Any) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True} | options
        command = [sys.executable, "-m", "lousho_cli", *args]
        running.append(Popen(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, **options))
        return running[-1]

    yield begin
    for one in running:
        if one.poll() is None:
            one.kill()
        one.communicate()


class Terminal:
    """A command line whose streams are a terminal."""

    def __init__(self, folder: Path, *args: str) -> None:
        self._ours, theirs = os.openpty()
        environ = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"}
        command = [sys.executable, "-m", "lousho_cli", *args]
        self.process = Popen(command, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.said = ""

    def _read(self, seconds: float) -> bool:
        """Takes what comes; False when nothing comes any more."""
        if not select.select([self._ours], [], [], seconds)[0]:
            raise AssertionError(f"nothing more was said behind: {self.said!r}")
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # the other end is closed
            return False
        self.said += piece.decode("utf-8", "replace")
        return bool(piece)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, words: str, *, behind: str = "") -> None:
        """Waits for words, behind others where those are given."""
        while words not in (self.said.partition(behind)[2] if behind else self.said):
            assert self._read(20), f"it ended without {words!r}: {self.said!r}"

    def ended(self) -> int:
        while self._read(20):
            pass
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(folder: Path) -> Iterator[Callable[..., Terminal]]:
    """Begins a command line on a terminal of its own."""
    opened: list[Terminal] = []

    def begin(*args: str) -> Terminal:
        opened.append(Terminal(folder, *args))
        return opened[-1]

    yield begin
    for one in opened:
        one.close()
