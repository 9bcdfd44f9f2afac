"""``lousho resume``: what runs again, what never does, the verdict beforehand, and which session is meant."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.stores.file.store import FileStore


@pytest.fixture
def killed(project: Any, spawn: Any) -> Any:
    """Runs a session until a tool has started, then kills the process."""

    def kill(tool: str, *args: str, session: str = "s", number: int = signal.SIGKILL) -> Any:
        before = project.counts.get(tool, (0, 0))[0]
        project.hold(tool)
        running = spawn("run", "agent.py", "Go", "-s", session, *args)
        project.until_started(tool, before + 1)
        running.send_signal(number)
        if number != signal.SIGKILL:
            project.until(lambda: running.poll() is not None)
        out, err = running.communicate(timeout=20)
        project.let_go(tool)
        return running.returncode, out, err

    return kill


def results(request: Any) -> list[tuple[str, str]]:
    return [(m["tool_call_id"], m["content"]) for m in request["messages"] if m["role"] == "tool"]


def test_case_001_a_killed_batch_goes_on_where_it_stopped(project: Any, killed: Any) -> None:
    project.write(["a", "b", "c"], "done")
    killed("b")
    kept = [m["content"] for m in project.messages("s") if m["role"] == "tool"]
    ran = project.lousho("resume", "s")
    assert ran.code == 0
    assert "will run again: b (call_b)" in ran.err
    assert "will run: c (call_c)" in ran.err
    assert project.counts == {"a": (1, 1), "b": (2, 1), "c": (1, 1)}
    assert len(project.requests) == 2
    found = results(project.requests[-1])
    assert [call for call, _ in found] == ["call_a", "call_b", "call_c"]
    assert kept == [found[0][1]]


def test_case_002_after_ctrl_c_the_next_message_runs_nothing_again(project: Any, spawn: Any) -> None:
    project.write(["a", "b", "c"], "done", "other")
    project.hold("b")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("b")
    running.send_signal(signal.SIGINT)
    project.until(lambda: "stopping" in running.stderr.readline())
    project.let_go("b")
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert err.rstrip().endswith("lousho resume s")
    assert project.run("do something else", "-s", "s").code == 0
    assert project.counts == {"a": (1, 1), "b": (1, 1)}
    last = project.requests[-1]["messages"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "tool", "tool", "tool", "user"]
    assert last[-1]["content"] == "do something else"
    assert json.loads(last[-2]["content"])["kind"] == "not-run"


def test_a_tool_that_does_not_stop_is_cancelled_after_its_time(project: Any, killed: Any) -> None:  # the five seconds again
    project.write(["b"], "done")
    code, _, err = killed("b", number=signal.SIGINT)
    assert code == 130
    assert "step 1: cut off: b\n" in err, "it had begun, so it is not said that it did not run"
    assert err.rstrip().endswith("lousho resume s")
    (cancelled,) = [m for m in project.messages("s") if m["role"] == "tool"]
    assert json.loads(cancelled["content"])["kind"] == "not-run"


def test_a_second_ctrl_c_leaves_at_once(project: Any, spawn: Any) -> None:
    project.write(["b"], "done")
    project.hold("b")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("b")
    running.send_signal(signal.SIGINT)
    assert "Ctrl-C again" in project.until(lambda: _line_with(running.stderr, "Ctrl-C again"))
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    project.let_go("b")
    assert project.lousho("show", "s", "--json").data["status"] == "in-progress"
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"b": (2, 1)}, "it was not waited for, so nothing was recorded of it"


def _line_with(stream: Any, words: str) -> str:
    line: str = stream.readline()
    return line if words in line else ""


def test_sigterm_is_a_stop_that_answers_nothing(project: Any, killed: Any) -> None:  # waits out the five seconds of a tool
    project.write(["a", "b", "c"], "done")
    code, _, err = killed("b", number=signal.SIGTERM)
    assert code == 143
    assert err.rstrip().endswith("lousho resume s")
    shown = project.lousho("show", "s", "--json").data
    assert (shown["status"], "outcome" in shown, shown["pending_calls"]) == ("in-progress", False, ["call_b", "call_c"])
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"a": (1, 1), "b": (2, 1), "c": (1, 1)}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_lets_a_tool_end_that_can(project: Any, spawn: Any, number: int) -> None:
    project.write(["a", "b"], "done")
    project.hold("a")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    running.send_signal(number)
    project.until(lambda: _line_with(running.stderr, "stopping"))
    project.let_go("a")
    running.communicate(timeout=20)
    assert running.returncode == 143
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"a": (1, 1), "b": (1, 1)}
    assert project.lousho("list", "--json").data[0]["attempts"] == 1


def test_sigterm_lets_a_command_tool_end_that_can(project: Any, folder: Any, spawn: Any) -> None:
    script = folder / "slow.sh"
    script.write_text('#!/bin/sh\necho "start slow" >> counts.txt\nwhile [ -e hold-slow ]; do sleep 0.02; done\necho \'{"ok": true}\'\n')
    script.chmod(0o700)
    agent = {
        "name": "slow",
        "prompt": "p",
        "provider": {"type": "scripted", "turns": [{"tool_calls": [{"name": "slow", "id": "call_slow"}]}, "done"]},
        "tools": [{"name": "slow", "description": "d", "command": ["./slow.sh"], "input": {"type": "object", "properties": {}}}],
    }
    (folder / "agent.json").write_text(json.dumps(agent))
    project.hold("slow")
    running = spawn("run", "agent.json", "Go", "-s", "s")
    project.until_started("slow")
    running.send_signal(signal.SIGTERM)
    project.until(lambda: _line_with(running.stderr, "stopping"))
    project.let_go("slow")
    running.communicate(timeout=20)
    assert running.returncode == 143
    (answered,) = [m for m in project.messages("s") if m["role"] == "tool"]
    assert json.loads(answered["content"]) == {"ok": True}
    assert project.lousho("resume", "s").code == 0
    assert project.counts["slow"][0] == 1


def test_case_013_nothing_pending_says_so_and_changes_nothing(project: Any) -> None:
    project.write(["a"], "done")
    project.run("Go", "-s", "s")
    before, asked = project.log("s"), len(project.requests)
    ran = project.lousho("resume", "s")
    assert (ran.code, ran.out) == (0, "nothing is pending in s\n")
    assert project.lousho("resume", "s", "--json").data["status"] == "finished"
    assert (project.log("s"), len(project.requests), project.counts) == (before, asked, {"a": (1, 1)})


def test_case_015_a_missing_tool_is_refused_until_it_is_back(project: Any, killed: Any) -> None:
    project.write(["a", "b"], "done")
    killed("b")
    before, asked = project.log("s"), len(project.requests)
    project.write(["a", "b"], "done", tools=["a", "c"])
    ran = project.lousho("resume", "s")
    assert ran.code == 6
    assert "LOUSHO_RESUME_TOOL_MISSING" in ran.err
    assert project.lousho("resume", "s", "--check", "--json").code == 6
    assert (project.log("s"), len(project.requests)) == (before, asked)
    project.write(["a", "b"], "done")
    assert project.lousho("resume", "s").code == 0


def test_drift_is_refused_only_where_it_is_an_error(project: Any, killed: Any) -> None:
    project.write(["a"], "done")
    killed("a")
    before = project.log("s")
    project.write(["a"], "done", tools=["a", "b", "c", "d"])
    refused = project.lousho("resume", "s", "--on-drift", "error")
    assert refused.code == 6
    assert "LOUSHO_AGENT_DRIFT" in refused.err
    checked = project.lousho("resume", "s", "--check", "--on-drift", "error", "--json")
    assert (checked.code, checked.data["verdict"], checked.data["drift"]["tools_added"]) == (6, "drift", ["d"])
    assert project.log("s") == before
    warned = project.lousho("resume", "s", "--json")
    assert warned.code == 0
    assert any("tools added: d" in warning for warning in json.loads(warned.out)["warnings"])


def test_a_call_that_must_not_repeat_is_in_doubt_and_reported(project: Any, killed: Any) -> None:
    project.write(["once", "a"], "done", tools=["once", "a"])
    killed("once")
    before = project.log("s")
    checked = project.lousho("resume", "s", "--check", "--json")
    assert checked.code == 8
    assert [call["id"] for call in checked.data["in_doubt"]] == ["call_once"]
    assert [call["id"] for call in checked.data["will_run"]] == ["call_a"]
    assert checked.data["first_request_tokens"] > 0
    assert project.log("s") == before
    ran = project.lousho("resume", "s")
    assert ran.code == 0
    assert "once (call_once)" in ran.err
    assert project.counts == {"a": (1, 1), "once": (1, 0)}


def test_interrupted_report_turns_a_safe_rerun_into_a_doubt(project: Any, killed: Any) -> None:
    project.write(["a"], "done")
    killed("a")
    assert project.lousho("resume", "s", "--check").code == 0
    assert project.lousho("resume", "s", "--check", "--interrupted", "report").code == 8
    assert project.lousho("resume", "s", "--interrupted", "report").code == 0
    assert project.counts == {"a": (1, 0)}


def test_check_of_what_waits_and_of_what_has_ended(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    approval = project.run("Go", "-s", "s", "--json").data["approval_id"]
    checked = project.lousho("resume", "s", "--check", "--json")
    assert (checked.code, checked.data["verdict"], checked.data["approval_id"]) == (4, "needs-person", approval)
    assert project.lousho("resume", "s").code == 4
    project.lousho("approve", approval)
    ended = project.lousho("resume", "s", "--check")
    assert (ended.code, "nothing is pending" in ended.out) == (0, True)


def test_without_a_session_the_only_unfinished_one_is_meant(project: Any) -> None:
    project.write({"error": {"status": 400, "message": "bad"}})
    assert project.lousho("resume").code == 0
    project.run("Go", "-s", "one")
    project.write("done", "and again")
    assert project.lousho("resume", "--json").data["session"] == "one"
    project.write({"error": {"status": 400, "message": "bad"}})
    project.run("Go", "-s", "two")
    project.run("Go", "-s", "three")
    ran = project.lousho("resume")
    assert ran.code == 3
    assert "three, two" in ran.err
    assert project.lousho("resume", "nobody").code == 3
    assert project.lousho("resume", "t").code == 3


def test_a_second_word_is_the_next_message(project: Any) -> None:
    project.write("one", "two")
    project.run("Go", "-s", "s")
    assert project.lousho("resume", "s", "And then?").out == "two\n"


def test_all_goes_on_with_what_nobody_settled(project: Any, killed: Any) -> None:
    project.write({"error": {"status": 400, "message": "bad"}})
    project.run("Go", "-s", "failed")
    project.write(["a"], "done")
    killed("a", session="cut")
    killed("a", session="cut-2")
    project.run("Go", "-s", "ended")
    ran = project.lousho("resume", "--all", "--json")
    assert ran.code == 0
    assert sorted(one["session"] for one in ran.data) == ["cut", "cut-2"]
    assert {one["outcome"] for one in ran.data} == {"completed"}
    assert project.lousho("resume", "--all").out == "nothing is pending\n"
    assert project.lousho("resume", "failed").code == 0


def test_all_names_what_it_could_not_go_on_with(project: Any, killed: Any) -> None:
    project.write(["a"], "done")
    killed("a", session="one")
    (project.folder / "agent.py").rename(project.folder / "moved.py")
    ran = project.lousho("resume", "--all", "--json")
    assert ran.code == 2
    assert ran.data[0]["error"]["code"] == "LOUSHO_AGENT_NOT_FOUND"
    found = project.lousho("resume", "one", "--agent", "moved.py")
    assert found.code == 0


def test_case_011_a_limit_holds_across_a_pause(project: Any) -> None:
    again = [{"tool_calls": [{"name": "a", "id": f"call_{n}"}]} for n in range(5)]
    project.write(["a"], ["gated"], *again, tools=["a", "gated"], gated=["gated"])
    approval = project.run("Go", "-s", "s", "--max-steps", "4", "--json").data["approval_id"]
    ran = project.lousho("approve", approval, "--json")
    assert ran.code == 9
    assert (ran.data["finish_reason"], ran.data["steps"], len(project.requests)) == ("max-steps", 4, 4)


def test_case_186_a_dead_owner_is_taken_over_at_once(project: Any, killed: Any) -> None:
    project.write(["a"], "done")
    killed("a")
    assert project.lousho("resume", "s").code == 0


def test_a_newer_log_is_not_written_to(project: Any) -> None:
    project.write("done", "two")
    project.run("Go", "-s", "s")
    log = project.folder / ".lousho" / "sessions" / "s" / "log.jsonl"
    from zlib import crc32

    body = log.read_bytes().splitlines()[0].split(b",", 1)[1].replace(b'"lousho.claimed"', b'"lousho.claimed","format":99')
    rest = log.read_bytes().split(b"\n", 1)[1]
    log.write_bytes(b'{"crc":"%08x",' % crc32(body) + body + b"\n" + rest)
    before = project.log("s")
    for ran in (project.lousho("resume", "s", "More"), project.run("More", "-s", "s"), project.lousho("abort", "s")):
        assert ran.code == 7
    assert project.log("s") == before


def test_what_is_ahead_names_only_what_runs(project: Any, killed: Any) -> None:
    project.write(["a", "gated", "b"], "done", tools=["a", "b", "gated"], gated=["gated"])
    killed("a")
    checked = project.lousho("resume", "s", "--check", "--json")
    names = {field: [call["name"] for call in checked.data.get(field, ())] for field in ("will_run", "again", "will_ask", "behind")}
    assert names == {"will_run": ["a"], "again": ["a"], "will_ask": ["gated"], "behind": ["b"]}
    assert (checked.code, checked.data["verdict"]) == (4, "needs-person")
    assert "will ask a person: gated (call_gated)" in project.lousho("resume", "s").err


def test_a_rejected_call_is_not_said_to_run(project: Any) -> None:
    project.write(["gated", "a"], "done", tools=["a", "gated"], gated=["gated"])
    project.run("Go", "-s", "s")
    project.lousho("reject", "s", "--no-resume")
    checked = project.lousho("resume", "s", "--check", "--json")
    assert (checked.code, [call["name"] for call in checked.data["will_run"]]) == (0, ["a"])
    ran = project.lousho("resume", "s")
    assert "will run: a (call_a)" in ran.err
    assert project.counts == {"a": (1, 1)}


def test_nothing_is_announced_that_is_then_refused(project: Any, killed: Any) -> None:
    project.write(["a", "b"], "done")
    killed("a")
    project.write(["a", "b"], "done", tools=["a", "c"])
    ran = project.lousho("resume", "s")
    assert (ran.code, "will run" in ran.err) == (6, False)


def test_check_says_who_drives_and_all_of_them_can_be_checked(project: Any, spawn: Any, killed: Any) -> None:
    project.write(["a"], "done")
    killed("a", session="one")
    killed("a", session="two")
    every = project.lousho("resume", "--all", "--check", "--json")
    assert (every.code, [check["session"] for check in every.data]) == (0, ["one", "two"])
    project.hold("a")
    owner = spawn("resume", "one")
    project.until_started("a", 3)
    checked = project.lousho("resume", "one", "--check", "--json")
    assert f"pid {owner.pid}" in checked.data["driven_by"]
    assert any(f"pid {owner.pid}" in warning for warning in json.loads(checked.out)["warnings"])
    assert [check["session"] for check in project.lousho("resume", "--all", "--check", "--json").data] == ["two"]
    project.let_go("a")
    owner.communicate(timeout=20)


def test_a_second_ctrl_c_leaves_with_the_line_that_goes_on(project: Any, spawn: Any) -> None:
    project.write(["a"], "done")
    project.hold("a")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    running.send_signal(signal.SIGINT)
    first = project.until(lambda: _line_with(running.stderr, "stopping"))
    assert "waits up to 5 s for: a." in first
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert (running.returncode, err) == (130, "lousho resume s\n")
    project.let_go("a")


def test_text_on_the_screen_is_not_said_again(project: Any, terminal: Any) -> None:
    project.write({"text": "Let me look.", "tool_calls": [{"name": "a"}]}, "done")
    project.hold("a")
    running = terminal("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    running.until("step 1 saved: calls a")
    running.until("a is running", behind="step 1 saved: calls a")  # the spinner is back below the line
    running.process.send_signal(signal.SIGINT)
    running.until("waits up to 5 s for: a")
    project.let_go("a")
    assert running.ended() == 130
    assert running.said.count("Let me look.") == 1
    assert "\rstopping; waits" in running.said, "written over the ^C that stands there when a person presses the key"


def test_what_a_program_drives_is_busy_and_its_agent_is_not_looked_for_in_vain(lousho: Any, store: Any, folder: Path) -> None:
    begins = [r.Created("desk"), r.InputReceived("in-1", (user("Hi"),)), r.RunStarted("in-1"), r.InputApplied("in-1")]
    store("s", [begins])
    owned = FileStore(folder / ".lousho")
    claim = asyncio.run(owned.claim("s", "other-host"))
    for args in (("resume", "s"), ("resume", "s", "--check"), ("run", "-s", "s", "And?")):
        ran = lousho(*args)
        assert (ran.code, "other-host" in ran.err) == (5, True)
    asyncio.run(owned.release(claim))
    assert "LOUSHO_AGENT_NOT_FOUND" in lousho("resume", "s").err


def test_nothing_is_said_to_run_again_that_is_refused(project: Any, spawn: Any) -> None:
    project.lousho("run", "booking", "-s", "b")
    waits = project.lousho("resume", "b")
    assert (waits.code, "will" in waits.err.split("error:")[0]) == (4, False), waits
    project.write(["a"], "done")
    project.hold("a")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    busy = project.lousho("resume", "s")
    assert (busy.code, "will run" in busy.err) == (5, False), busy
    project.let_go("a")
    running.communicate(timeout=20)
    assert running.returncode == 0
