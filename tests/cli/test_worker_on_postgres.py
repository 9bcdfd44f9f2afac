"""``lousho worker`` on a real PostgreSQL: how it hands over, whose work it takes, and what it asks, with real processes."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pg_server
import psycopg
import pytest
from cutting_proxy import CuttingProxy
from jsonschema import Draft202012Validator

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.stores.postgres.store import PostgresStore

AGENTS = ("--agents", "agent.py")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    address = pg_server.place_url(tmp_path)
    monkeypatch.setenv("LOUSHO_STORE", address)
    return address


@contextmanager
def opened(url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(url)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def cut(url: str) -> Any:
    """Leaves sessions behind whose call of ``a`` was begun and has no result, as a killed process does."""

    def leave(*sessions: str, agent: str = "project", minute: int = 0) -> None:
        asks = Message("assistant", "", tool_calls=(ToolCall("call_a", "a", '{"n": 0}'),))
        begins = (r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1", offered=("a",)))
        at = f"2026-01-02T03:{minute:02}:05.000Z"

        async def write(store: PostgresStore) -> None:
            for name in sessions:
                claim = await store.claim(name, "test")
                first = r.Batch(1, claim.epoch, at, (r.Claimed("test"), r.Created(agent), *begins))
                batches = [first, r.Batch(2, claim.epoch, at, (r.Turn(asks, "tool_calls"), r.Mark(1), r.ToolStarted("call_a")))]
                await store.append(claim, batches)
                await store.save_head(claim, head_of(fold(batches)))
                await store.release(claim)

        with opened(url) as store:
            asyncio.run(write(store))

    return leave


def line_of(process: Any, kind: str, session: str | None = None) -> Any:
    """Reads what a worker says up to one line."""
    for text in process.stdout:
        line = json.loads(text)
        if line["type"] == kind and session in (None, line.get("session")):
            return line
    raise AssertionError(f"the worker ended without a line {kind} of {session}")


@pytest.fixture
def not_begun(url: str) -> Iterator[CuttingProxy]:
    """The way to a server that was not started yet."""
    proxy = CuttingProxy(int(url.partition("127.0.0.1:")[2].partition("/")[0]), begins=False)
    yield proxy
    proxy.close()


def test_a_worker_that_was_started_before_its_server_waits_for_it(project: Any, cut: Any, spawn: Any, url: str, not_begun: Any) -> None:
    project.write(["a"], "done")
    cut("s")
    store = ("--store", not_begun.url(url))
    worker = spawn("worker", "--json", "--wait-for-store", "5m", *store, *AGENTS)
    said = worker.stderr.readline()
    assert said.startswith("warning: the store is not there yet, and is waited for ")
    assert "Connection refused" in said
    not_begun.begin()
    assert line_of(worker, "settled", "s")["done"]["text"] == "done"
    worker.send_signal(signal.SIGTERM)
    assert "warning: the store can be read now\n" in worker.communicate(timeout=30)[1]
    assert worker.returncode == 143


def test_what_a_stopped_worker_ran_goes_on_elsewhere_at_once_and_costs_no_attempt(project: Any, cut: Any, spawn: Any) -> None:
    project.write(["a"], ["b"], "done")
    cut("s")
    project.hold("a")
    old = spawn("worker", "--json", *AGENTS)
    project.until_started("a")
    attempts = project.lousho("list", "--json").data[0]["attempts"]
    new = spawn("worker", "--json", "--status-every", "0.1s", *AGENTS)
    line_of(new, "status")  # it is up, and has nothing to do
    old.send_signal(signal.SIGTERM)
    project.until(lambda: "stopping" in old.stderr.readline())
    project.hold("b")
    project.let_go("a")
    out, _ = old.communicate(timeout=30)
    gone = time.monotonic()
    given, status = [json.loads(line) for line in out.splitlines()][-2:]
    assert (old.returncode, given["type"], given["session"], given["pending"]) == (143, "given-back", "s", True)
    assert (status["type"], status["running"], status["queued"], status["done"]) == ("status", 0, 0, 0)
    project.until_started("b")
    project.let_go("b")
    assert line_of(new, "settled", "s")["done"]["text"] == "done"
    assert time.monotonic() - gone < 25  # its lease would last for 30
    assert project.lousho("list", "--json").data[0]["attempts"] == attempts
    assert project.counts == {"a": (1, 1), "b": (1, 1)}
    new.send_signal(signal.SIGTERM)
    assert new.wait(20) == 143


def test_what_a_killed_worker_ran_goes_on_beside_it_at_once(project: Any, cut: Any, spawn: Any) -> None:
    project.write(["a"], "done")
    cut("s")
    project.hold("a")
    killed = spawn("worker", *AGENTS)
    project.until_started("a")
    killed.kill()
    killed.wait(20)
    project.let_go("a")
    ran = project.lousho("worker", "--once", "--json", *AGENTS)  # at once: another could see by a lock that it is dead
    assert [json.loads(line)["type"] for line in ran.out.splitlines()] == ["taken", "settled", "given-back"]


def test_no_agent_waits_for_all_the_work_of_another(project: Any, cut: Any) -> None:
    project.write(["a"], "done")
    text = (project.folder / "agent.py").read_text()
    (project.folder / "other.py").write_text(text.replace('"name": "project"', '"name": "other"'))
    cut(*(f"big-{n}" for n in range(8)))
    cut("small", agent="other", minute=59)
    ran = project.lousho("worker", "--once", "--json", "--concurrency", "1", *AGENTS, "--agents", "other.py")
    settled = [line["session"] for line in map(json.loads, ran.out.splitlines()) if line["type"] == "settled"]
    assert (len(settled), ran.code) == (9, 0)
    assert "small" in settled[:2]


def test_two_workers_share_nothing_and_leave_nothing(project: Any, cut: Any, spawn: Any) -> None:
    project.write(["a"], "done")
    names = {f"s-{n}" for n in range(12)}
    cut(*names)
    workers = [spawn("worker", "--once", "--json", "--concurrency", "3", *AGENTS) for _ in range(2)]
    said = [[json.loads(line) for line in one.communicate(timeout=60)[0].splitlines()] for one in workers]
    taken = [{line["session"] for line in lines if line["type"] == "taken"} for lines in said]
    assert taken[0] | taken[1] == names
    assert not taken[0] & taken[1]


def test_an_idle_worker_is_told_of_work_and_asks_seldom_whatever_waits(project: Any, cut: Any, spawn: Any, url: str) -> None:
    project.write(["a"], "done")
    cut("s", "told")
    place, _, schema = url.partition("?schema=")
    worker = spawn("worker", "--json", "--status-every", "1s", *AGENTS)
    assert {line_of(worker, "given-back")["session"] for _ in range(2)} == {"s", "told"}
    with psycopg.connect(place, autocommit=True) as sql:
        sql.execute(
            f"INSERT INTO {schema}.logs (id, epoch, due_ms, waits, lane) "
            """SELECT 'w' || g, 1, 4000000000000, true, '["t' || g || '","a"]' FROM generate_series(1, 2000) g"""
        )
        before, status = line_of(worker, "status"), line_of(worker, "status")
        took = datetime.fromisoformat(status["at"]) - datetime.fromisoformat(before["at"])  # longer than it is to be, on a busy machine
        assert status["store"]["questions"] <= 2 + took.seconds // 3, "one in three seconds, and where there was none one for the line"
        assert (status["done"], status["claims_lost"], status["cost_usd"]) == (2, 0, None)
        schema_of = json.loads(project.lousho("schema", "worker").out)
        Draft202012Validator(schema_of).validate(status)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 143


def test_a_worker_that_stood_still_for_its_lease_has_lost_its_sessions_and_counts_them(project: Any, cut: Any, spawn: Any) -> None:
    project.write(["a"], "done")
    cut("s")
    project.hold("a")
    still = spawn("worker", "--json", "--lease", "1s", "--status-every", "0.1s", *AGENTS)
    project.until_started("a")
    still.send_signal(signal.SIGSTOP)
    other = spawn("worker", "--json", "--lease", "1s", *AGENTS)
    project.until_started("a", 2)  # a lease later, as it lives, and only does not say so
    project.let_go("a")
    assert line_of(other, "settled", "s")["done"]["text"] == "done"
    still.send_signal(signal.SIGCONT)
    left = line_of(still, "left", "s")
    assert left["error"]["code"] == "LOUSHO_OWNERSHIP_LOST"
    while line_of(still, "status")["claims_lost"] != 1:
        pass
    for one in (still, other):
        one.send_signal(signal.SIGTERM)
        assert one.wait(20) == 143
