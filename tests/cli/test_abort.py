"""``lousho abort``: its owner settles the run, and where nobody drives it, it is settled here."""

from __future__ import annotations

import json
import signal
from typing import Any

from lousho_cli.domain.texts import CANCELLED_TOOL_RESULT, INTERRUPTED_TOOL_RESULT


def test_the_owner_cancels_and_settles(project: Any, spawn: Any) -> None:
    project.write(["a", "b"], "done")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s", "--json")
    project.until_started("a")
    asking = spawn("abort", "s", "--json")
    project.until(lambda: b"abort_asked" in project.log("s"))
    project.let_go("a")
    assert asking.wait(20) == 0
    assert json.loads(asking.communicate()[0])["data"] == {"session": "s", "status": "in-progress", "outcome": "aborted", "by": "owner"}
    out, err = owner.communicate(timeout=20)
    assert owner.returncode == 130
    assert json.loads(out)["data"]["outcome"] == "aborted"
    assert err.rstrip().endswith("lousho resume s")
    assert project.counts == {"a": (1, 1)}


def test_an_input_that_waited_has_its_turn_and_is_no_part_of_what_was_aborted(project: Any, spawn: Any) -> None:
    project.write(["a"], ["b"], "done", tools=["a", "b"])
    project.hold("a")
    project.hold("b")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    owner.kill()
    owner.wait()
    spawn("worker")
    project.until_started("a", 2)
    queued = spawn("run", "agent.py", "More", "-s", "s", "--queue", "--input-id", "more")
    project.until(lambda: b'"more"' in project.log("s"))
    asking = spawn("abort", "s", "--json")
    project.until(lambda: b"abort_asked" in project.log("s"))
    project.let_go("a")
    said = json.loads(asking.communicate(timeout=20)[0])["data"]  # while the next turn is held up in its tool
    assert (said["outcome"], said["by"], said.get("next_input", "more")) == ("aborted", "owner", "more")
    project.let_go("b")
    assert queued.wait(20) == 0


def test_without_an_owner_it_is_settled_here(project: Any, spawn: Any) -> None:
    project.write(["a", "b"], "done")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    owner.kill()
    owner.wait()
    project.let_go("a")
    done = project.lousho("abort", "s")
    assert (done.code, "aborted here" in done.out) == (0, True)
    shown = project.lousho("show", "s", "--json").data
    assert (shown["outcome"], shown["status"]) == ("aborted", "in-progress")
    results = [json.loads(m["content"])["message"] for m in shown["messages"] if m["role"] == "tool"]
    assert results == [INTERRUPTED_TOOL_RESULT, CANCELLED_TOOL_RESULT]  # nobody knows how the first one ended
    assert project.lousho("resume", "--all").out == "nothing is pending\n"
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"a": (1, 0)}


def test_an_abort_ends_what_waits_for_a_person(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    approval = project.run("Go", "-s", "s", "--json").data["approval_id"]
    assert project.lousho("abort", "s").code == 0
    assert project.lousho("pending", "--json").data == []
    assert project.lousho("approve", approval).code == 3
    assert project.counts == {}


def test_what_has_ended_is_left_alone(project: Any) -> None:
    project.write("done")
    project.run("Go", "-s", "s")
    before = project.log("s")
    done = project.lousho("abort", "s")
    assert (done.code, "nothing to abort" in done.out, project.log("s")) == (0, True, before)
    assert project.lousho("abort", "nobody").code == 3


def test_a_silent_owner_is_named_and_the_wish_is_left_for_it(project: Any, spawn: Any, monkeypatch: Any) -> None:
    from lousho_cli.app import aborting

    monkeypatch.setattr(aborting, "SILENT_AFTER_S", 0.3)
    project.write(["a"], "done")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    owner.send_signal(signal.SIGSTOP)
    try:
        ran = project.lousho("abort", "s")
        assert (ran.code, "--now" in ran.err, f"pid {owner.pid}" in ran.err) == (5, True, True)
    finally:
        owner.send_signal(signal.SIGCONT)
    project.until(lambda: b"abort_asked" in project.log("s"))
    project.let_go("a")
    assert owner.wait(20) == 130
