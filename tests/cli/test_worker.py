"""``lousho worker``: what it takes, what it leaves, how it hands over, with real processes."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from jsonschema import Draft202012Validator

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.postgres import database
from lousho_cli.tools.processes import start_time


@pytest.fixture
def left(project: Any, spawn: Any) -> Any:
    """Leaves a session behind whose process was killed while a tool ran."""

    def leave(session: str, tool: str) -> None:
        before = project.counts.get(tool, (0, 0))[0]
        project.hold(tool)
        running = spawn("run", "agent.py", "Go", "-s", session)
        project.until_started(tool, before + 1)
        running.kill()
        running.communicate(timeout=20)
        project.let_go(tool)

    return leave


@pytest.fixture
def begun(store: Any) -> Any:
    """Leaves sessions of the demo ``trip`` behind whose run had only begun."""

    def begin(*sessions: str, agent: str = "trip") -> None:
        for name in sessions:
            store(name, [[r.Created(agent), r.InputReceived("in-1", (user("Plan"),)), r.InputApplied("in-1"), r.RunStarted("in-1")]])

    return begin


@pytest.fixture
def cut(store: Any) -> Any:
    """Leaves sessions of the project's agent behind whose call of ``a`` was begun and has no result, as a killed process does."""

    def leave(*sessions: str) -> None:
        asks = Message("assistant", "", tool_calls=(ToolCall("call_a", "a", '{"n": 0}'),))
        for name in sessions:
            begins = [r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1", offered=("a",))]
            turn = [r.Turn(asks, "tool_calls"), r.Mark(1), r.ToolStarted("call_a")]
            store(name, [[r.Created("project", "agent.py"), *begins], turn])

    return leave


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def told(text: str) -> list[tuple[str, str]]:
    return [(line["session"], line["type"]) for line in lines(text)]


def line_of(process: Any, session: str, kind: str) -> Any:
    """Reads what a worker says up to one line."""
    for text in process.stdout:
        line = json.loads(text)
        if (line["session"], line["type"]) == (session, kind):
            return line
    raise AssertionError(f"the worker ended without saying that {session} was {kind}")


def test_once_goes_on_with_what_a_killed_process_left(project: Any, left: Any) -> None:
    project.write(["a", "b"], "done")
    left("s", "b")
    ran = project.lousho("worker", "--once", "--json")
    assert (ran.code, told(ran.out)) == (0, [("s", "taken"), ("s", "settled"), ("s", "given-back")])
    settled = lines(ran.out)[1]
    assert (settled["agent"], settled["done"]["text"], settled["done"]["outcome"]) == ("project", "done", "completed")
    assert project.counts == {"a": (1, 1), "b": (2, 1)}
    assert project.lousho("worker", "--once").out == ""


def test_its_lines_are_as_its_schema_says(project: Any, begun: Any, store: Any, waiting: Any) -> None:
    begun("t")
    begun("lost", agent="nobody")
    schema = Draft202012Validator(json.loads(project.lousho("schema", "worker").out))
    said = lines(project.lousho("worker", "--once", "--output", "ndjson").out)
    assert {line["type"] for line in said} == {"taken", "settled", "given-back", "left"}
    for line in said:
        schema.validate(line)


def test_as_text_each_thing_is_a_line(project: Any, begun: Any) -> None:
    begun("t")
    ran = project.lousho("worker", "--once")
    assert ran.out.splitlines()[0] == "t: taken, with agent trip"
    assert ran.out.splitlines()[1].startswith("t: completed: 2 steps, ")
    begun("u")
    assert project.lousho("worker", "--once", "-q").out == "u\n"


def test_ds_159_what_somebody_drives_is_left_alone(project: Any, spawn: Any) -> None:
    project.write(["a"], "done")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    assert project.lousho("worker", "--once").out == ""
    project.let_go("a")
    owner.communicate(timeout=20)
    assert (owner.returncode, project.counts) == (0, {"a": (1, 1)})


def test_it_works_on_a_database_as_on_files(project: Any, spawn: Any) -> None:
    project.write(["a", "b"], "done")
    project.hold("b")
    running = spawn("run", "agent.py", "Go", "-s", "s", "--store", "sqlite:all.db")
    project.until_started("b")
    running.kill()
    running.communicate(timeout=20)
    project.let_go("b")
    ran = project.lousho("worker", "--once", "--json", "--store", "sqlite:all.db")
    assert told(ran.out) == [("s", "taken"), ("s", "settled"), ("s", "given-back")]
    assert project.counts == {"a": (1, 1), "b": (2, 1)}


def test_what_ended_failed_or_aborted_is_never_run_again(project: Any) -> None:
    project.write({"error": {"status": 400, "message": "bad"}})
    project.run("Go", "-s", "failed")
    before = project.log("failed")
    assert project.lousho("worker", "--once").out == ""
    assert project.log("failed") == before


def test_a_fork_is_left_until_somebody_goes_on_with_it(project: Any) -> None:
    project.write(["a"], "done")
    project.run("Go", "-s", "s")
    assert project.lousho("fork", "s", "--from-step", "1", "--as", "f").code == 0
    assert project.lousho("worker", "--once").out == ""
    assert project.counts == {"a": (1, 1)}
    assert project.lousho("resume", "f").code == 0
    assert project.lousho("show", "f", "--json").data["status"] == "finished"


def test_ds_144_what_waits_is_left_until_it_is_decided(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    approval = project.run("Go", "-s", "s", "--json").data["approval_id"]
    assert project.lousho("worker", "--once").out == ""
    assert project.lousho("approve", approval, "--no-resume").code == 0
    assert told(project.lousho("worker", "--once", "--json").out) == [("s", "taken"), ("s", "settled"), ("s", "given-back")]
    assert project.counts == {"gated": (1, 1)}


def test_an_agent_that_can_not_be_found_is_named_and_the_others_go_on(project: Any, begun: Any) -> None:
    begun("lost", agent="nobody")
    begun("t")
    ran = project.lousho("worker", "--once", "--json", "--concurrency", "1")
    assert (ran.code, ("t", "settled") in told(ran.out)) == (0, True)
    (left,) = [line for line in lines(ran.out) if line["session"] == "lost"]
    assert (left["type"], left["error"]["code"]) == ("left", "LOUSHO_AGENT_NOT_FOUND")


def test_agents_are_found_by_name_where_they_are_said_to_be(project: Any, cut: Any) -> None:
    project.write(["a"], "done")
    cut("s")
    (project.folder / "agents").mkdir()
    for name in ("turns.json", "settings.json"):
        (project.folder / "agents" / name).write_bytes((project.folder / name).read_bytes())
    (project.folder / "agent.py").rename(project.folder / "agents" / "agent.py")
    ran = project.lousho("worker", "--once", "--json")
    assert (ran.code, told(ran.out)) == (1, [("s", "left")])
    assert ("s", "settled") in told(project.lousho("worker", "--once", "--json", "--agents", "agents/agent.py").out)


def test_an_agent_that_changed_is_refused_where_that_is_an_error(project: Any, left: Any) -> None:
    project.write(["a"], "done")
    left("s", "a")
    project.write(["a"], "done", tools=["a", "c"])
    ran = project.lousho("worker", "--once", "--json", "--on-drift", "error")
    assert ran.code == 1
    assert [line["error"]["code"] for line in lines(ran.out) if line["type"] == "left"] == ["LOUSHO_AGENT_DRIFT"]
    shown = project.lousho("list", "--json").data[0]
    assert (shown["status"], "outcome" in shown) == ("in-progress", False)
    again = project.lousho("worker", "--once", "--json", "--on-drift", "error")  # it is held back for half a minute, and said to be
    (held,) = lines(again.out)
    assert (again.code, held["type"], held["session"], held["error"]["message"][:7]) == (1, "left", "s", "drift: ")
    assert "s: left: drift: " in project.lousho("worker", "--once").out


def test_a_cut_call_is_reported_where_that_is_asked_for(project: Any, cut: Any) -> None:
    project.write(["a"], "done")
    cut("s")
    assert project.lousho("worker", "--once", "--interrupted", "report").code == 0
    assert project.counts == {}
    assert [m["is_error"] for m in project.messages("s") if m["role"] == "tool"] == [True]


def test_attempts_that_are_used_up_fail_on_a_worker_and_begin_anew_when_named(project: Any, cut: Any) -> None:
    project.write(["a"], "done", durability={"max_attempts": 1})
    cut("s")
    ran = project.lousho("worker", "--once", "--json")
    (failed,) = [line for line in lines(ran.out) if line["type"] == "failed"]
    assert failed["error"]["code"] == "attempts_exhausted"
    assert project.lousho("worker", "--once").out == ""
    assert project.lousho("list", "--json").data[0]["outcome"] == "failed"
    assert project.lousho("resume", "s").code == 0


def test_a_named_resume_of_used_up_attempts_goes_on_and_counts_anew(project: Any, cut: Any) -> None:
    project.write(["a"], "done", durability={"max_attempts": 1})
    cut("s")
    ran = project.lousho("resume", "s")
    assert (ran.code, project.counts) == (0, {"a": (1, 1)})
    assert "begins to count anew" in ran.err
    assert project.lousho("list", "--json").data[0]["attempts"] == 1


def test_a_sweep_settles_attempts_that_are_used_up(project: Any, cut: Any) -> None:
    project.write(["a"], "done", durability={"max_attempts": 1})
    cut("s")
    ran = project.lousho("resume", "--all", "--json")
    assert (ran.code, ran.data[0]["outcome"], ran.data[0]["error"]["code"]) == (1, "failed", "attempts_exhausted")
    assert project.counts == {}


def test_a_sweep_refuses_what_a_resume_would_and_says_so_once(project: Any, cut: Any) -> None:
    project.write(["a"], "done", tools=["b"])
    cut("s")
    ran = project.lousho("resume", "--all", "--json")
    assert (ran.code, [one["error"]["code"] for one in ran.data]) == (6, ["LOUSHO_RESUME_TOOL_MISSING"])
    assert json.loads(ran.out)["warnings"][1:] == []
    project.write(["a"], "done")
    assert project.lousho("resume", "--all").code == 0  # at once, although it was given back for later


def test_a_sweep_approves_in_advance_and_names_what_waits(project: Any) -> None:
    project.write(["gated"], ["gated"], "done", tools=["gated"], gated=["gated"])
    project.run("Go", "-s", "s")
    ran = project.lousho("resume", "--all", "--json")
    assert (ran.code, ran.data[0]["error"]["code"]) == (4, "LOUSHO_SESSION_AWAITING_APPROVAL")
    ran = project.lousho("resume", "--all", "--yes", "--json")
    assert (ran.code, [one["outcome"] for one in ran.data]) == (0, ["completed"])
    assert project.counts == {"gated": (2, 2)}


def test_who_the_agent_file_names_is_told_of_what_waits_and_fails(project: Any, cut: Any) -> None:
    page = project.folder / "page.sh"
    page.write_text('#!/bin/sh\ncat > "$PWD/item.tmp" && mv "$PWD/item.tmp" "$PWD/item.json"\n')
    page.chmod(page.stat().st_mode | stat.S_IXUSR)
    project.write(["a"], ["gated"], tools=["a", "gated"], gated=["gated"], notify=["./page.sh"])
    cut("s")
    said = lines(project.lousho("worker", "--once", "--json").out)
    (waits,) = [line for line in said if line["type"] == "waits"]
    item = project.folder / "item.json"
    project.until(item.exists)
    assert json.loads(item.read_text())["id"] == waits["waits"]["id"]


def test_a_session_of_a_newer_version_is_not_written_to_and_holds_up_no_other(project: Any, begun: Any) -> None:
    begun("newer", "t")
    log = project.folder / ".lousho" / "sessions" / "newer" / "log.jsonl"
    body = log.read_bytes().splitlines()[-1].split(b",", 1)[1].replace(b'"lousho.claimed"', b'"lousho.claimed","format":99')
    log.write_bytes(b'{"crc":"%08x",' % crc32(body) + body + b"\n")
    before = project.log("newer")
    ran = project.lousho("worker", "--once", "--json")
    assert ("t", "settled") in told(ran.out)
    assert project.log("newer") == before


def test_the_servers_of_an_agent_live_as_long_as_its_session_is_driven(project: Any, begun: Any, folder: Path) -> None:
    raw = Path(__file__).parents[1] / "tools" / "mcp" / "raw_server.py"
    listed = [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]
    env = {"NOTES": str(folder / "notes"), "MODE": "", "TOOLS": json.dumps(listed)}
    turns = [{"tool_calls": [{"name": "fs__echo", "args": {"a": 1}, "id": "c"}]}, "done"]
    agent = {
        "name": "mcp",
        "prompt": "p",
        "provider": {"type": "scripted", "turns": turns},
        "mcp_servers": {"fs": {"command": sys.executable, "args": ["-S", "-E", str(raw)], "env": env}},
    }
    (folder / "mcp.json").write_text(json.dumps(agent))
    begun("s", agent="mcp")
    assert ("s", "settled") in told(project.lousho("worker", "--once", "--json", "--agents", "mcp.json").out)
    assert [json.loads(m["content"]) for m in project.messages("s") if m["role"] == "tool"] == ['{"echo": {"a": 1}}']
    (pid,) = [int(line.removeprefix("pid ")) for line in (folder / "notes").read_text().splitlines() if line.startswith("pid ")]
    assert not start_time(pid)


def test_ds_151_an_input_for_a_session_that_a_worker_drives_runs_there(project: Any, cut: Any, spawn: Any) -> None:
    project.write(["a"], "one", "two")
    cut("s")
    project.hold("a")
    worker = spawn("worker", "--json")
    project.until_started("a")
    asking = spawn("run", "agent.py", "And then?", "-s", "s", "--queue", "--input-id", "in-2")
    project.until(lambda: "queued as input" in asking.stderr.readline())
    project.let_go("a")
    out, _ = asking.communicate(timeout=20)
    assert (asking.returncode, out) == (0, "two\n")
    assert [line_of(worker, "s", "settled")["input_id"] for _ in range(2)] == ["in-1", "in-2"]
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 143


def test_an_input_that_nobody_took_is_taken(project: Any, folder: Path) -> None:
    project.lousho("run", "trip", "-s", "t", "-q")
    post = Post("in-2", "input", "2026-01-02T03:04:05.000Z", body=[{"role": "user", "content": "And then?"}])
    asyncio.run(FileStore(folder / ".lousho").post("t", post))
    said = lines(project.lousho("worker", "--once", "--json").out)
    assert [(line["type"], line.get("input_id")) for line in said] == [("taken", None), ("settled", "in-2"), ("given-back", None)]


def test_ds_158_two_workers_share_nothing(project: Any, begun: Any, spawn: Any) -> None:
    names = [f"t-{n}" for n in range(8)]
    begun(*names)
    workers = [spawn("worker", "--once", "--json", "--concurrency", "2") for _ in range(2)]
    outs = [one.communicate(timeout=60)[0] for one in workers]
    taken = [{session for session, kind in told(out) if kind == "taken"} for out in outs]
    assert taken[0] | taken[1] == set(names)
    assert not taken[0] & taken[1], outs
    assert {one["attempts"] for one in project.lousho("list", "--json").data} == {2}


def test_one_more_than_it_may_waits_its_turn(project: Any, begun: Any, folder: Path, spawn: Any) -> None:
    holds = "echo start a >> counts.txt; while [ -e hold-a ]; do sleep 0.02; done; echo '{}'"
    agent = {
        "name": "slow",
        "prompt": "p",
        "provider": {"type": "scripted", "turns": [{"tool_calls": [{"name": "a", "id": "call_a"}]}, "done"]},
        "tools": [{"name": "a", "description": "d", "command": ["sh", "-c", holds], "input": {"type": "object", "properties": {}}}],
    }
    (folder / "slow.json").write_text(json.dumps(agent))
    names = {"s-1", "s-2", "s-3"}
    begun(*names, agent="slow")
    project.hold("a")
    worker = spawn("worker", "--once", "--json", "--concurrency", "2", "--agents", "slow.json")
    project.until_started("a", 2)
    store = FileStore(folder / ".lousho")
    driven = [name for name in names if asyncio.run(store.owner(name)) is not None]
    assert len(driven) == 2
    project.let_go("a")
    out, _ = worker.communicate(timeout=30)
    assert (worker.returncode, {session for session, kind in told(out) if kind == "settled"}) == (0, names)


def test_ds_164_in_a_rolling_deploy_a_turn_goes_on_within_a_second(project: Any, left: Any, spawn: Any) -> None:
    project.write(["a", "b"], "done")
    left("s", "b")
    project.hold("b")
    old = spawn("worker", "--json", "--concurrency", "1")
    project.until_started("b", 2)
    project.lousho("run", "booking", "-s", "warm")
    project.lousho("approve", "warm", "--no-resume")
    new = spawn("worker", "--json")
    line_of(new, "warm", "given-back")  # it is up, and found nothing else that is free
    old.send_signal(signal.SIGTERM)
    project.until(lambda: "stopping" in old.stderr.readline())
    project.let_go("b")
    out, _ = old.communicate(timeout=20)
    gone = time.monotonic()
    assert old.returncode == 143
    assert [line["type"] for line in lines(out)][-2:] == [
        "given-back",
        "status",
    ]  # ``pending`` or not: by now the other one may have done it all
    assert line_of(new, "s", "settled")["done"]["text"] == "done"
    assert time.monotonic() - gone < 25  # a lease would last for 30
    assert project.counts == {"a": (1, 1), "b": (2, 1)}
    new.send_signal(signal.SIGTERM)
    assert new.wait(20) == 143


def test_a_killed_worker_is_taken_over_from_at_once(project: Any, left: Any, spawn: Any) -> None:
    project.write(["a", "b"], "done")
    left("s", "b")
    project.hold("b")
    killed = spawn("worker")
    project.until_started("b", 2)
    killed.kill()
    killed.wait(20)
    project.let_go("b")
    began = time.monotonic()
    assert ("s", "settled") in told(project.lousho("worker", "--once", "--json").out)
    assert time.monotonic() - began < 25  # and not its lease
    assert project.counts == {"a": (1, 1), "b": (3, 1)}


def test_ctrl_c_gives_back_and_a_second_one_leaves_at_once(project: Any, cut: Any, spawn: Any) -> None:
    project.write(["a"], "done")
    cut("s")
    project.hold("a")
    worker = spawn("worker")
    project.until_started("a")
    worker.send_signal(signal.SIGINT)
    project.until(lambda: "stopping" in worker.stderr.readline())
    worker.send_signal(signal.SIGINT)
    assert worker.wait(20) == 130
    assert "given back" not in worker.stdout.read()
    project.let_go("a")
    assert project.lousho("worker", "--once").code == 0
    assert project.lousho("list", "--json").data[0]["outcome"] == "completed"


@pytest.mark.parametrize(("number", "code", "outcome"), [(signal.SIGTERM, 143, None), (signal.SIGINT, 130, "aborted")])
def test_a_signal_ends_a_sweep_as_it_ends_a_run(project: Any, cut: Any, spawn: Any, number: int, code: int, outcome: str | None) -> None:
    project.write(["a"], "done")
    cut("s-1", "s-2")
    project.hold("a")
    sweep = spawn("resume", "--all", "--json")
    project.until_started("a")
    sweep.send_signal(number)
    project.until(lambda: "stopping" in sweep.stderr.readline())
    project.let_go("a")
    out, _ = sweep.communicate(timeout=20)
    assert sweep.returncode == code
    assert [one.get("outcome") for one in json.loads(out)["data"]] == [outcome]
    assert sorted(one.get("outcome") or "" for one in project.lousho("list", "--json").data) == ["", outcome or ""]


def test_an_idle_worker_ends_at_once(project: Any, spawn: Any, begun: Any) -> None:
    begun("t")
    worker = spawn("worker", "--json")
    line_of(worker, "t", "given-back")
    worker.send_signal(signal.SIGINT)
    assert worker.wait(20) == 130


def test_in_a_file_a_worker_says_how_it_stands_where_that_changed(project: Any, begun: Any, spawn: Any, folder: Path) -> None:
    begun("t")
    with (folder / "log").open("w") as log:
        worker = spawn("worker", "--status-every", "50ms", stdout=log)
        project.until(lambda: "1 done" in (folder / "log").read_text())
        for _ in range(2):  # it has looked twice since
            assert project.lousho("list").code == 0
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 143, worker.stderr.read()
    said = [line for line in (folder / "log").read_text().splitlines() if line.startswith("status: ")]
    assert len(said) == len({line.partition(", store ")[0] for line in said})
    assert said[-1].startswith("status: 0 running, 0 queued, 1 done, cost unknown")


def test_of_a_worker_that_can_not_begin_the_error_comes_alone(lousho: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 0.0)
    store = ("--store", "postgresql://u@127.0.0.1:1/x", "--wait-for-store", "0")
    refused = lousho("worker", *store, "--status-every", "1ms")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert refused.err.startswith("error: ")
    said = json.loads(lousho("worker", *store, "--json").out)
    assert [*said] == ["schema", "command", "error", "warnings"]
    assert said["error"]["retryable"] is True


@pytest.mark.parametrize("wrong", ["--status-every=soon", "--status-every=-1s", "--lease=0", "--lease=1ms", "--wait-for-store=-1s"])
def test_its_times_are_lengths_of_time(project: Any, wrong: str) -> None:
    ran = project.lousho("worker", "--once", wrong)
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_on_a_terminal_a_status_line_stands_below(project: Any, begun: Any, terminal: Any) -> None:
    begun("t")
    running = terminal("worker")
    running.until("t: given back")
    running.until("0 running, 0 queued, 1 done, cost", behind="t: given back")
    running.process.send_signal(signal.SIGTERM)
    assert running.ended() == 143


def test_agents_that_are_not_there_are_named_at_once(project: Any) -> None:
    ran = project.lousho("worker", "--once", "--agents", "nosuch")
    assert ran.code == 2
    assert "--agents nosuch: there is no such file or folder [LOUSHO_SPEC_NOT_FOUND]" in ran.err
