"""Every test of this folder runs over each wire; those that ask for ``server`` also against each model server that nobody here wrote."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from warm_process import Popen

import lousho_cli

HERE = Path(__file__).parent
AIMOCK = "1.43.0"
ENDS_WITH_US = "data:text/javascript,process.stdin.on('end',()=>process.exit()).resume()"
TEXT = "one two three four five six seven eight nine ten eleven twelve"


def _load(file: str) -> ModuleType:
    """A helper beside this file, under a name of its own: in this import mode tests can not import each other."""
    spec = importlib.util.spec_from_file_location(f"contract_{file}", HERE / f"{file}.py")
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kinds = _load("kinds")


@pytest.fixture(scope="session", params=kinds.KINDS, ids=[kind.id for kind in kinds.KINDS])
def kind(request: pytest.FixtureRequest) -> Any:
    """A wire."""
    return request.param


@pytest.fixture(scope="session")
def said() -> ModuleType:
    """The module ``kinds``: answers, written out as events."""
    return kinds


# Model servers


class Aimock:
    """A server that answers by the words of the request, from ``aimock.json``. What it counts, it counts by test."""

    name = "aimock"

    def __init__(self, root: str, test: str) -> None:
        self.root, self._test = root, test
        self.headers = {"x-test-id": test}

    def root_of(self, kind: Any) -> str:
        return self.root

    def prepare(self, scenario: str) -> str:
        """Makes the next answer go so, and the one behind it a good one; gives the words to ask with."""
        return scenario


class Llmock:
    """A server that is told what happens next, and judges what its client did."""

    name = "llmock"
    headers: dict[str, str] = {}

    def __init__(self, llmock: Any) -> None:
        self.handle = llmock

    def root_of(self, kind: Any) -> str:
        return str(self.handle.base_url(kind.llmock)).removesuffix("/v1")

    def prepare(self, scenario: str) -> str:
        from llmock.scenarios import Reply, ToolCall

        mock = self.handle
        if scenario == "calls":
            calls = (ToolCall("forecast", {"city": "Lisbon"}), ToolCall("trains", {"city": "Porto"}))
            mock.add(Reply(text="Let me look at both.", tool_calls=calls)).reply("It is sunny.")
            return scenario
        statuses = {"rate-limit": 429, "overloaded": 529, "server-error": 500}
        if scenario in statuses:
            mock.fail(statuses[scenario], retry_after=0.1)
        elif scenario == "slow":
            mock.slow_first_token(0.4)
        elif scenario != "text":
            mock.pace(20)  # so that it sees its client leave in the middle
            faults = {"disconnect": mock.disconnect, "truncate": mock.truncate, "malformed": mock.corrupt, "stall": mock.stall}
            # Behind as many events as it takes on every wire until words have come.
            faults[scenario](after_chunks=8, **({"seconds": 1.0} if scenario == "stall" else {}))
            mock.reply(TEXT)
        mock.reply(TEXT)
        return scenario


@pytest.fixture
def verdict(llmock: Any) -> Callable[[], dict[str, Any]]:
    """Asks llmock what it thinks of its client's manners, at the address where anybody can."""

    def ask() -> dict[str, Any]:
        with urllib.request.urlopen(f"{llmock.url}/_llmock/verdict", timeout=10) as reply:
            found: dict[str, Any] = json.loads(reply.read())
        return found

    return ask


@pytest.fixture(scope="session")
def aimock_root(npm: Any) -> Iterator[str]:
    """aimock, running. Skips by name where there is no Node."""
    command = npm.folder("@copilotkit/aimock", AIMOCK) / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    server = subprocess.Popen(
        [npm.node((20, 15)), "--import", ENDS_WITH_US, str(command), "-p", "0", "-f", str(HERE / "aimock.json"), "--strict"],
        stdin=subprocess.PIPE,  # it ends when this closes, so also when we are killed
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    said = []
    for line in server.stdout:
        said.append(line)
        if "listening on " in line:
            break
    else:
        pytest.fail(f"aimock did not start: {''.join(said)}")
    rest = threading.Thread(target=server.stdout.read, daemon=True)  # it goes on talking; a full pipe would stop it
    rest.start()
    try:
        yield line.partition("listening on ")[2].strip()
    finally:
        server.stdin.close()
        server.kill()
        server.wait(10)
        rest.join(10)
        server.stdout.close()


@pytest.fixture
def aimock(aimock_root: str, request: pytest.FixtureRequest) -> Aimock:
    return Aimock(aimock_root, request.node.nodeid)


@pytest.fixture(params=["aimock", "llmock"])
def server(request: pytest.FixtureRequest) -> Any:
    """A model server that nobody here wrote."""
    if request.param == "aimock":
        return request.getfixturevalue("aimock")
    return Llmock(request.getfixturevalue("llmock"))


@pytest.fixture
def text() -> str:
    """What the servers answer where a test does not care."""
    return TEXT


@pytest.fixture(autouse=True)
def no_further_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


# A command line in a process of its own, while the server of the test answers it


class Ran(NamedTuple):
    """What a command line gave."""

    code: int | None
    out: str
    err: str


class Workplace:
    """A folder with an agent file, and command lines in it."""

    TOOLS = """
import asyncio, os

async def look(n: int = 0) -> dict:
    "Says what it was asked."
    with open("ran.txt", "a") as file:
        file.write(f"look {n}\\n")
    return {"n": n, "text": "\u2028é"}

async def hold(n: int = 0) -> dict:
    "Waits while a file called hold is there."
    with open("ran.txt", "a") as file:
        file.write(f"hold {n}\\n")
    while os.path.exists("hold"):
        await asyncio.sleep(0.01)
    return {"held": n}
"""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cold = folder, False
        folder.mkdir()
        (folder / "tools.py").write_text(self.TOOLS, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOUSHO_", "XDG_"))}
        self.environ = kept | {"HOME": str(folder), "PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}

    def agent(self, kind: Any, root: str, **provider: Any) -> None:
        """Writes ``agent.json``, whose model is at ``root``."""
        written = {
            "name": "a",
            "prompt": "Be brief.",
            "provider": kind.spec(root) | provider,
            "tools": [{"python": "tools.py:look"}, {"python": "tools.py:hold"}],
            "durability": {"retry": {"max_retries": 5, "base_delay": "60ms"}},
        }
        (self.folder / "agent.json").write_text(json.dumps(written))

    async def begin(self, *args: str) -> Popen:
        command = [sys.executable, "-m", "lousho_cli", *args]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return await asyncio.to_thread(Popen, command, cwd=self.folder, env=self.environ, cold=self.cold, **pipes)

    async def run(self, *args: str) -> Ran:
        process = await self.begin(*args)
        out, err = await asyncio.to_thread(process.communicate)
        return Ran(process.returncode, out.decode(), err.decode())

    async def killed(self, fact: Callable[[], Any], *args: str) -> None:
        """Begins a command line and kills it, for real, once a fact is there."""
        process = await self.begin(*args)
        for _ in range(2000):
            if fact():
                break
            assert process.poll() is None, process.communicate()[1]
            await asyncio.sleep(0.01)
        process.kill()
        await asyncio.to_thread(process.communicate)

    def records(self, session: str = "s") -> list[dict[str, Any]]:
        """Everything in the log of a session."""
        log = (self.folder / ".lousho" / "sessions" / session / "log.jsonl").read_text(encoding="utf-8")
        return [record for line in log.split("\n") if line for record in json.loads(line)["records"]]

    @property
    def ran(self) -> list[str]:
        """Each start of a tool."""
        file = self.folder / "ran.txt"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def workplace(tmp_path: Path) -> Callable[[str], Workplace]:
    """Makes folders to work in."""
    return lambda name: Workplace(tmp_path / name)


# A command line in this process, while a thread serves it


class Bench:
    """A person in an empty folder with an agent whose model is a server that plays what it is told."""

    def __init__(self, folder: Path, served: Any, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.served, self._capsys = folder, served, capsys

    def agent(self, tools: dict[str, Any] | None = None, **more: Any) -> None:
        """Writes ``agent.json``. ``tools`` are names with the schema of their arguments; each notes its calls in ``ran``."""
        folder, provider = self.folder, {"type": "openai", "model": "m-1", "base_url": self.served.base_url}
        lines = ["import json"]
        for name in tools or {}:
            lines += [
                f"async def {name}(args):",
                f"    open('ran.txt', 'a').write('{name} ' + json.dumps(args) + chr(10))",
                f"    return '{name} ran'",
            ]
        made = [
            f"{{'name': {name!r}, 'description': '', 'input': {schema!r}, 'execute': {name}}}" for name, schema in (tools or {}).items()
        ]
        agent = {"name": "a", "prompt": "Be brief.", "provider": provider | more.pop("provider", {})}
        agent |= {"policy": {"tool_concurrency": 1}, "durability": {"retry": {"max_retries": 1, "base_delay": "1ms"}}, **more}
        lines += [f"agent = {agent!r} | {{'tools': [{', '.join(made)}]}}"]
        (folder / "agent.py").write_text("\n".join(lines) + "\n")

    def lousho(self, *args: str) -> Ran:
        from lousho_cli.__main__ import main

        self._capsys.readouterr()
        code = int(main(list(args)))
        return Ran(code, *self._capsys.readouterr())

    def run(self, *bodies: Any, code: int = 0, to: tuple[str, ...] = ()) -> Ran:
        """Runs session ``s`` against these answers."""
        self.served.plays += [body if isinstance(body, self.served.Play) else self.served.Play([body]) for body in bodies]
        ran = self.lousho("run", "agent.py", "Go", "-s", "s", *to)
        assert ran.code == code, ran.err
        assert not self.served.plays
        return ran

    def data(self, *args: str) -> Any:
        return json.loads(self.lousho(*args, "--json").out)["data"]

    @property
    def messages(self) -> list[Any]:
        """The transcript as it is stored, without its beginning."""
        return [message for message in self.data("show", "s")["messages"] if message["role"] not in ("system", "user")]

    @property
    def asked(self) -> list[Any]:
        """The messages of the last request, without its beginning."""
        return [message for message in self.served.seen[-1].body["messages"] if message["role"] not in ("system", "user")]

    @property
    def ran(self) -> list[str]:
        file = self.folder / "ran.txt"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def served(wire: Any, clock: Any) -> Iterator[Any]:
    """A server that plays what it is told, on a loop of its own, for a test that keeps this thread busy."""
    playing, loop = type(wire)(clock), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(playing.start(), loop).result(5)
    yield playing
    asyncio.run_coroutine_threadsafe(playing.stop(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture
def bench(tmp_path: Path, served: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name in [name for name in os.environ if name.startswith(("LOUSHO_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Bench(tmp_path / "work", served, capsys)
