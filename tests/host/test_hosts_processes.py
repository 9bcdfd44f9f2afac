"""Hosts in processes of their own: killed, stopped for longer than their lease, and asked from elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pg_server
import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.domain import records as r
from lousho_cli.host.host import create_harness_host
from tests.host.host_process import harness, open_store
from tests.host.owning import closing, nobody_owns


class Process:
    def __init__(self, kind: str, place: Path, ttl_ms: int) -> None:
        self._began = 0
        script = Path(__file__).with_name("host_process.py")
        self._running = Popen(
            [sys.executable, str(script), kind, str(place), str(ttl_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])},
        )

    def ask(self, command: str, **arguments: Any) -> Any:
        assert self._running.stdin is not None
        self._running.stdin.write(json.dumps([command, arguments]) + "\n")
        self._running.stdin.flush()
        while (line := self._line()) == "began":  # its tool may be quicker than the answer
            self._began += 1
        return line

    def said(self) -> Any:
        if self._began:
            self._began -= 1
            return "began"
        return self._line()

    def _line(self) -> Any:
        assert self._running.stdout is not None
        silent = threading.Timer(60, self._running.kill)  # a test that fails says more than one that hangs
        silent.start()
        try:
            line = self._running.stdout.readline()
        finally:
            silent.cancel()
        assert line, "it said nothing for a minute"
        return json.loads(line)

    def signal(self, number: int) -> None:
        os.kill(self._running.pid, number)

    def kill(self) -> None:
        self._running.kill()
        self._running.wait()
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture(params=["file", "sqlite", "postgres"])
def shared(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Any, Path, Callable[[int], Process]]]:
    """A store in this process, its place, and a function that starts a host on it in another."""
    started: list[Process] = []
    if request.param == "postgres":
        monkeypatch.setenv("HOST_PROCESS_STORE", pg_server.place_url(tmp_path))
    store = open_store(request.param, tmp_path)

    def start(ttl_ms: int = 30_000) -> Process:
        started.append(Process(request.param, tmp_path, ttl_ms))
        started[-1].ask("open")
        return started[-1]

    yield store, tmp_path, start
    for process in started:
        process.kill()
    if request.param != "file":
        store.close()


async def epochs(store: Any) -> list[int]:
    return [batch.epoch for batch in (await store.read("t")).batches]


async def test_ds_010_a_host_that_stood_still_past_its_lease_writes_nothing_more(shared: Any) -> None:
    store, place, start = shared
    other = start(2_000)  # less, and a loaded machine loses it before the turn has begun
    assert other.ask("send", id="a") == "accepted"
    assert other.said() == "began"
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(harness(place, "this one"), "t")  # while the other one lives: else this takes the thread
        other.signal(signal.SIGSTOP)
        await nobody_owns(store, "t")
        (place / "go").touch()
        assert await session.recover_pending_work()
        assert (await session.settled("a")).text == "By this one."
        other.signal(signal.SIGCONT)
        assert other.ask("settled", id="a") == ["completed", "By this one."], "it reads on"
        await nobody_owns(store, "t")
        written = await epochs(store)
        assert written == sorted(written)
        assert other.ask("send", id="b") == "accepted", "it takes the thread back"
        assert (await session.settled("b")).text == "By another."
        settled = [one for batch in (await store.read("t")).batches for one in batch.records if isinstance(one, r.InputSettled)]
        assert [one.id for one in settled] == ["a", "b"]


async def test_a_killed_host_is_followed_at_once(shared: Any) -> None:
    store, place, start = shared
    other = start()
    other.ask("send", id="a")
    assert other.said() == "began"
    other.kill()
    (place / "go").touch()
    host = create_harness_host({"log": store})
    async with closing(host):
        taken = await host.resume_pending([harness(place, "this one")])
        assert [one.thread_id for one in taken] == ["t"]
        session = await host.open(harness(place, "this one"), "t")
        assert (await session.settled("a")).text == "By this one."


async def test_ds_151_an_input_for_an_owner_in_another_process_runs_there(shared: Any) -> None:
    store, place, start = shared
    other = start()
    other.ask("send", id="a")
    assert other.said() == "began"
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(harness(place, "this one"), "t")
        assert (await session.send("More", input_id="b")).status == "queued"
        (place / "go").touch()
        assert [(await session.settled(one)).text for one in "ab"] == ["By another.", "By another."]


async def test_ds_164_what_a_host_gives_back_for_a_deploy_is_taken_at_once(shared: Any) -> None:
    store, place, start = shared
    other = start()
    other.ask("send", id="a")
    assert other.said() == "began"
    (place / "go").touch()
    other.ask("close")
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(harness(place, "this one"), "t")
        assert (await session.settled("a")).outcome == "completed"
