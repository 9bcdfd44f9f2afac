"""A project with three evals, driven through the command alone: recorded against a model server that nobody here wrote, then without it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

HERE = Path(__file__).parent
AIMOCK = "1.43.0"
ENDS_WITH_US = "data:text/javascript,process.stdin.on('end',()=>process.exit()).resume()"


class Server:
    """aimock with the answers of a file."""

    def __init__(self, npm: Any, fixtures: Path) -> None:
        command = npm.folder("@copilotkit/aimock", AIMOCK) / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
        self._process = subprocess.Popen(
            [npm.node((20, 15)), "--import", ENDS_WITH_US, str(command), "-p", "0", "-f", str(fixtures), "--strict"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        said = next((line for line in self._process.stdout if "listening on " in line), "")
        assert said, "aimock did not start"
        self.address = said.partition("listening on ")[2].strip() + "/v1"
        self._rest = threading.Thread(target=self._process.stdout.read, daemon=True)
        self._rest.start()

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait(10)
        self._rest.join(10)
        self._process.stdout.close()


Serve = Callable[[Path], Server]


@pytest.fixture
def serve(npm: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts aimock and points the agents at it."""
    running: list[Server] = []

    def start(fixtures: Path) -> Server:
        running.append(Server(npm, fixtures))
        monkeypatch.setenv("OPENAI_BASE_URL", running[-1].address)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")
        return running[-1]

    yield start
    for server in running:
        if server._process.returncode is None:
            server.stop()


@pytest.fixture
def project(evals: Any) -> Path:
    """A copy of the project, which is where we are."""
    shutil.copytree(HERE / "project", evals.folder, dirs_exist_ok=True)
    return Path(evals.folder)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """From now on there is no key and no network; gives the attempts to reach it."""
    tried: list[Any] = []

    def refuse(self: Any, address: Any, *rest: Any) -> None:
        tried.append(address)
        raise AssertionError(f"somebody wants to reach {address}")

    def cut() -> list[Any]:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket.socket, "connect_ex", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        return tried

    return cut


def _files(project: Path) -> dict[str, bytes]:
    return {str(path.relative_to(project)): path.read_bytes() for path in sorted(project.rglob("__cassettes__/**/*.json"))}


def _changed(project: Path, **arguments: Any) -> Path:
    """Fixtures whose model calls the tool with other arguments."""
    fixtures = json.loads((project / "fixtures.json").read_text())
    fixtures["fixtures"][0]["response"]["toolCalls"][0]["arguments"] |= arguments
    path = project / "changed.json"
    path.write_text(json.dumps(fixtures))
    return path


def test_record_then_replay_without_server_and_key_then_see_what_changed(
    project: Path, serve: Serve, offline: Any, evals: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(project / "fixtures.json")
    recorded = evals.lousho("eval", "--record", "--json")
    assert recorded.code == 0, recorded
    assert {case["case"]: case["source"] for case in recorded.data["cases"]} == {
        "Weather in Paris": "recorded",
        "looks first": "recorded",
        "two questions": "recorded",
    }
    committed = _files(project)
    assert set(committed) == {
        "__cassettes__/live/weather-in-paris.json",
        "__cassettes__/scripted/looks-first.json",
        "__cassettes__/talk/two-questions.json",
    }
    assert b"sk-of-the-tests" not in b"".join(committed.values())

    # One argument of one call is another: exactly that row, and the cassettes stand.
    server.stop()
    changed = serve(_changed(project, unit="f"))
    drifted = evals.lousho("eval", "--drift", "--json")
    assert drifted.code == 0
    rows = [row for case in drifted.data["cases"] for row in case["drift"]]
    assert rows == [{"field": "args", "committed": 'weather {"city":"Paris","unit":"c"}', "current": 'weather {"city":"Paris","unit":"f"}'}]
    [case] = [case for case in drifted.data["cases"] if case["drift"]]
    assert case["case"] == "Weather in Paris"
    assert [one for one in case["assertions"] if not one["passed"]] == [
        {"name": "drift", "passed": False, "score": 0.0, "soft": True, "detail": f"args: {rows[0]['committed']} -> {rows[0]['current']}"}
    ]
    assert case["parting"]["step"] == 1
    assert _files(project) == committed
    text = evals.lousho("eval", "--drift", "--strict")
    assert text.code == 10
    table = text.out.partition("Drift:\n")[2].splitlines()
    assert table[0].split() == ["EVAL", "CASE", "FIELD", "COMMITTED", "CURRENT"]
    assert [line.split()[0] for line in table[1 : table.index("")]] == ["live"]
    assert 'committed  weather {"city":"Paris","unit":"c"}' in text.out
    assert _files(project) == committed
    changed.stop()

    # The server is gone, and so is the key.
    tried = offline()
    monkeypatch.setenv("CI", "true")
    replayed = evals.lousho("eval", "--replay", "--json", "--junit", "out.xml")
    assert replayed.code == 0, replayed
    assert [case["source"] for case in replayed.data["cases"]] == ["replayed"] * 3
    assert not tried
    before, after = ({case["case"]: case["usage"] for case in ran.data["cases"]} for ran in (recorded, replayed))
    assert before == after
    suites = list(JUnitXml.fromfile("out.xml"))
    assert {suite.name: (suite.tests, suite.failures, suite.errors) for suite in suites} == {
        "live": (1, 0, 0),
        "scripted": (1, 0, 0),
        "talk": (1, 0, 0),
    }
    assert {case.name: case.system_out for suite in suites for case in suite if case.system_out} == {
        "looks first": "soft: max_tokens 10: 120 tokens",
        "two questions": "soft: max_steps 1: 2 steps",
    }


def test_the_installed_command_replays(project: Path, evals: Any) -> None:
    evals.lousho("eval", "--record", "scripted.eval.yaml")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")} | {"CI": "1"}
    ran = evals.process("eval", "--replay", "scripted.eval.yaml", env=environ)
    assert ran.returncode == 0, ran.stderr
    assert "1 passed, 0 failed, 1 replayed" in ran.stdout
