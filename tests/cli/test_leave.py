"""``lousho run --leave``: an input that is stored for whoever takes work."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest


def works(project: Any) -> list[tuple[str, str]]:
    """What a worker does with what is there: each thing and its session."""
    lines = [json.loads(line) for line in project.lousho("worker", "--once", "--json").out.splitlines()]
    return [(line["type"], line["session"]) for line in lines]


def test_a_new_session_is_left_to_a_worker_with_its_input(project: Any) -> None:
    project.write(["a"], "done")
    left = project.run("Go", "--leave")
    assert (left.code, left.out) == (0, "")
    assert left.err.rstrip().endswith("lousho follow project")
    assert project.counts == {}
    said = project.lousho("resume", "project", "--check")
    assert (said.code, "safe to resume" in said.out, "takes up:        input" in said.out) == (0, True, True)
    kept = project.lousho("abort", "project")
    assert "there is nothing to abort; input" in kept.out
    assert re.fullmatch(r"lousho inputs project --drop \w+\n", kept.err), "it names what takes the input back"
    assert works(project) == [("taken", "project"), ("settled", "project"), ("given-back", "project")]
    assert project.counts == {"a": (1, 1)}
    assert "nothing is pending" in project.lousho("resume", "project", "--check").out


def test_each_new_one_gets_a_name_of_its_own_and_resume_takes_it_as_well(project: Any) -> None:
    project.write("done")
    assert [project.run("Go", "--leave", "-q").out for _ in range(2)] == ["project\n", "project-2\n"]
    assert project.lousho("resume", "project-2").out == "done\n"
    assert [message["content"] for message in project.messages("project-2")][-2:] == ["Go", "done"]


def test_the_next_message_waits_for_who_drives_the_session_or_for_a_worker(project: Any, spawn: Any) -> None:
    project.write(["a"], "done", "and more", "the end")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    data = project.run("More", "-s", "s", "--leave", "--json").data
    assert (data["session"], data["status"]) == ("s", "in-progress")
    project.let_go("a")
    assert owner.wait(20) == 0
    works(project)  # where its owner had left before it saw it
    project.run("And then?", "-s", "s", "--leave")
    assert ("settled", "s") in works(project)
    said = [message["content"] for message in project.messages("s") if message["role"] == "user"]
    assert said == ["Go", "More", "And then?"]


def test_the_same_input_is_left_once_and_another_under_its_id_is_refused(project: Any) -> None:
    project.write("done", "again")
    for _ in range(2):
        assert project.run("Go", "-s", "s", "--input-id", "k", "--leave").code == 0
    works(project)
    assert project.run("Go", "-s", "s", "--input-id", "k", "--leave").code == 0
    works(project)
    assert [message["content"] for message in project.messages("s") if message["role"] == "user"] == ["Go"]
    other = project.run("Stop", "-s", "s", "--input-id", "k", "--leave")
    assert "LOUSHO_INPUT_CONFLICT" in other.err
    assert other.code != 0


@pytest.mark.parametrize("wish", [["--model", "scripted/other"], ["--yes"], ["--queue"], ["--max-steps", "3"], ["--store", "memory:"]])
def test_how_it_runs_can_not_be_said_here(project: Any, wish: list[str]) -> None:
    project.write("done")
    refused = project.run("Go", "--leave", *wish)
    assert (refused.code, "Traceback" in refused.err) == (2, False)
    assert project.lousho("list", "--json").data == []


def test_an_input_that_waits_can_be_taken_back_where_nobody_drives_the_session(project: Any) -> None:
    project.write("done", "again")
    project.run("Go", "-s", "s", "--input-id", "k1", "--leave")
    project.run("And more", "-s", "s", "--input-id", "k2", "--leave")
    listed = project.lousho("inputs", "s")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["ID", "k1", "k2"]
    assert project.lousho("inputs", "s", "--drop", "k2").out == "input k2 of s was taken back\n"
    data = project.lousho("inputs", "s", "--json").data
    assert [(one["id"], one["delivery"], one["text"]) for one in data["waiting"]] == [("k1", "queue", "Go")]
    again = project.lousho("inputs", "s", "--drop", "k2")
    assert (again.code, "[LOUSHO_INPUT_NOT_WAITING] What waits: k1." in again.err) == (3, True)
    works(project)
    assert [message["content"] for message in project.messages("s") if message["role"] == "user"] == ["Go"]
    refused = project.lousho("inputs", "s", "--drop", "k1")
    assert (refused.code, "lousho abort s" in refused.err) == (3, True)
    assert (project.lousho("inputs", "s").out, project.lousho("inputs", "s", "-q").out) == ("", "")


def test_who_drives_the_session_takes_an_input_back_that_waits(project: Any, spawn: Any) -> None:
    project.write(["a"], "done", "never")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    project.run("More", "-s", "s", "--input-id", "k", "--leave")
    project.run("And", "-s", "s", "--input-id", "k2", "--leave")
    dropped = project.lousho("inputs", "s", "--drop", "k", "--json").data
    assert (dropped["dropped"], [one["id"] for one in dropped["waiting"]]) == ("k", ["k2"])
    assert project.lousho("inputs", "s", "--drop", "k2", "-q").out == "k2\n"
    project.let_go("a")
    assert owner.wait(20) == 0
    assert works(project) == []
    assert [message["content"] for message in project.messages("s") if message["role"] == "user"] == ["Go"]
