"""``lousho fork``: a copy from a kept step, with a change; the source never changes by a byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest


def files(project: Any, session: str) -> dict[str, str]:
    """What stands in the folder of a session, but for who drives it."""
    folder: Path = project.folder / ".lousho" / "sessions" / session
    kept = [file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("owner.")]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in kept}


def steps(project: Any, session: str) -> list[int]:
    return [entry["step"] for entry in project.lousho("history", session, "--json").data]


@pytest.fixture
def trip(project: Any) -> Any:
    """A session ``trip`` of three steps."""
    project.write(["a"], ["b"], "done", "more")
    assert project.run("Go", "-s", "trip").code == 0
    return project


def test_case_037_a_fork_holds_each_message_and_call_once(trip: Any) -> None:
    at_two = trip.lousho("show", "trip@2", "--json").data["messages"]
    forked = trip.lousho("fork", "trip", "--from-step", "2", "--json")
    assert forked.data == {"session": "trip.fork-1", "step": 2, "parent": "trip"}
    copied = trip.messages("trip.fork-1")
    assert copied == at_two
    assert [call["id"] for m in copied for call in m.get("tool_calls", ())] == ["call_a", "call_b"]


def test_case_038_the_source_never_changes(trip: Any) -> None:
    before = files(trip, "trip")
    forked = trip.lousho("fork", "trip", "--from-step", "1", "-q")
    assert (forked.code, forked.out) == (0, "trip.fork-1\n")
    assert trip.lousho("resume", "trip.fork-1").code == 0
    assert files(trip, "trip") == before


def test_case_039_a_fork_of_a_fork_begins_where_it_stands(trip: Any) -> None:
    trip.lousho("fork", "trip", "--from-step", "1")
    trip.lousho("resume", "trip.fork-1")
    newest = max(steps(trip, "trip.fork-1"))
    again = trip.lousho("fork", "trip.fork-1", "--from-step", str(newest), "-q")
    assert again.out == "trip.fork-1.fork-1\n"
    assert trip.messages("trip.fork-1.fork-1") == trip.messages("trip.fork-1")
    asked = len(trip.requests)
    assert trip.lousho("resume", "trip.fork-1.fork-1").code == 0
    assert len(trip.requests) == asked


def test_case_042_a_fork_of_a_pause_pauses_under_a_new_id(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    old = project.run("Go", "-s", "s", "--json").data["approval_id"]
    waiting = project.lousho("history", "s", "--json").data[0]["address"]
    assert project.lousho("approve", old).code == 0
    ran = project.lousho("fork", waiting, "--run", "--json")
    assert ran.code == 4
    assert ran.data["approval_id"] != old
    assert project.counts == {"gated": (1, 1)}
    assert project.lousho("approve", old).code == 3
    assert project.lousho("approve", ran.data["approval_id"]).code == 0
    assert project.counts == {"gated": (2, 2)}


def test_case_043_a_fork_goes_its_own_way(trip: Any) -> None:
    head = trip.lousho("show", "trip", "--json").data["seq"]
    trip.lousho("fork", "trip", "--from-step", "1")
    kept = len(steps(trip, "trip.fork-1"))
    trip.lousho("resume", "trip.fork-1")
    assert trip.lousho("show", "trip.fork-1", "--json").data["step"] == 3
    assert len(steps(trip, "trip.fork-1")) > kept
    assert trip.lousho("show", "trip", "--json").data["seq"] == head


def test_case_045_an_unknown_step_lists_the_kept_ones(project: Any) -> None:
    again = [{"tool_calls": [{"name": "a", "id": f"call_{n}"}]} for n in range(5)]
    project.write(*again, "done", durability={"history_limit": 3})
    assert project.run("Go", "-s", "s").code == 0
    kept = sorted(set(steps(project, "s")))
    ran = project.lousho("fork", "s", "--from-step", "1")
    assert ran.code == 3
    assert "LOUSHO_CHECKPOINT_NOT_FOUND" in ran.err
    assert f"Kept steps: {', '.join(map(str, kept))}." in ran.err
    assert [one["id"] for one in project.lousho("list", "--json").data] == ["s"]


def test_case_048_a_fork_inherits_usage_and_what_is_left_of_the_limit(project: Any) -> None:
    spent = {"input_tokens": 20, "output_tokens": 10}
    again = [{"tool_calls": [{"name": "a", "id": f"call_{n}"}], "usage": spent} for n in range(9)]
    project.write(*again)
    assert project.run("Go", "-s", "s", "--max-steps", "6").code == 9
    project.lousho("fork", "s", "--from-step", "2")
    begun = project.lousho("show", "s.fork-1", "--json").data
    assert (begun["step"], begun["usage"]["input_tokens"], begun["usage"]["output_tokens"]) == (2, 40, 20)
    asked = len(project.requests)
    ran = project.lousho("resume", "s.fork-1", "--json")
    assert (ran.code, ran.data["steps"], len(project.requests) - asked) == (9, 6, 4)


def test_case_050_two_forks_of_one_pause_are_decided_apart(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    project.run("Go", "-s", "s")
    before = files(project, "s")
    ids = [project.lousho("fork", "s", "--from-step", "1", "--run", "--json").data["approval_id"] for _ in range(2)]
    assert project.lousho("approve", ids[0]).code == 0
    assert project.lousho("reject", ids[1]).code == 0
    results = [[m["content"] for m in project.messages(f"s.fork-{n}") if m["role"] == "tool"] for n in (1, 2)]
    assert json.loads(results[0][0])["tool"] == "gated"
    assert json.loads(results[1][0])["kind"] == "rejected"
    assert files(project, "s") == before


def test_case_055_without_history_nothing_can_be_forked(project: Any) -> None:
    project.write(["a"], {"error": {"status": 400, "message": "bad"}}, durability={"history_limit": 0})
    project.run("Go", "-s", "s")
    assert project.lousho("history", "s", "--json").data == []
    ran = project.lousho("fork", "s", "--from-step", "1")
    assert (ran.code, "history_limit 0" in ran.err) == (3, True)
    project.write(["a"], "done", durability={"history_limit": 0})
    assert project.lousho("resume", "s").code == 0


# Changes


def test_a_changed_result_with_an_address_in_place_of_a_flag(trip: Any) -> None:
    (trip.folder / "other.json").write_text('{"n": 9}')
    assert trip.lousho("fork", "trip@1", "--tool-result", "call_a=@other.json", "--as", "mine").code == 0
    (result,) = [m["content"] for m in trip.messages("mine") if m["role"] == "tool"]
    assert json.loads(result) == {"n": 9}


def test_what_the_change_does_not_reach_is_said(trip: Any) -> None:
    ran = trip.lousho("fork", "trip", "--from-step", "3", "--tool-result", "call_a=1", "--json")
    (warning,) = json.loads(ran.out)["warnings"]
    assert warning.startswith("3 messages behind the change")
    assert "fork from step 1" in warning


def test_a_patch_from_flags_and_from_a_file(trip: Any) -> None:
    (trip.folder / "patch.json").write_text(json.dumps({"append_input": "from the file", "business_state": {"a": 1}}))
    trip.lousho("fork", "trip", "--from-step", "3", "--patch", "patch.json", "--append-input", "from the flag", "--as", "one")
    shown = trip.lousho("show", "one", "--json").data
    assert (shown["messages"][-1]["content"], shown["business_state"]) == ("from the flag", {"a": 1})
    (trip.folder / "messages.json").write_text(json.dumps([{"role": "user", "content": "Only this"}]))
    trip.lousho("fork", "trip", "--from-step", "1", "--messages", "messages.json", "--business-state", "null", "--as", "two")
    assert [m["content"] for m in trip.messages("two")] == ["Only this"]


@pytest.mark.parametrize(
    "words",
    [
        ("--tool-result", "call_a={rain}"),
        ("--tool-result", "call_a=NaN"),
        ("--tool-result", "call_zzz=1"),
        ("--tool-result", "call_a"),
        ("--tool-result", "call_a=1", "--tool-result", "call_b=2"),
        ("--tool-result", "call_a=@missing.json"),
        ("--business-state", "{"),
        ("--messages", "missing.json"),
        ("--messages", "object.json"),
        ("--patch", "wrong.json"),
        ("--as", "../x"),
        ("--as", "trip"),
        ("--run", "--model", "nowhere/x"),
    ],
    ids=" ".join,
)
def test_a_bad_change_changes_nothing(trip: Any, words: tuple[str, ...]) -> None:
    (trip.folder / "object.json").write_text("{}")
    (trip.folder / "wrong.json").write_text('{"mesages": []}')
    assert trip.lousho("fork", "trip", "--from-step", "1", *words).code == 2
    assert [one["id"] for one in trip.lousho("list", "--json").data] == ["trip"]


def test_the_step_is_named_once(trip: Any) -> None:
    assert trip.lousho("fork", "trip").code == 2
    assert trip.lousho("fork", "trip@1", "--from-step", "1").code == 2
    assert trip.lousho("fork", "nobody", "--from-step", "1").code == 3


def test_calls_that_must_not_run_twice_want_a_yes(project: Any) -> None:
    project.write(["once"], "done", tools=["once"])
    project.run("Go", "-s", "s")
    (asked, *_) = [e["address"] for e in reversed(project.lousho("history", "s", "--json").data)]
    ran = project.lousho("fork", asked, "--run")
    assert ran.code == 2
    assert "once (call_once)" in ran.err
    assert "--yes" in ran.err
    assert [one["id"] for one in project.lousho("list", "--json").data] == ["s"]
    assert project.counts == {"once": (1, 1)}
    assert project.lousho("fork", asked, "--run", "--yes").code == 0
    assert project.counts == {"once": (2, 2)}


def test_the_model_of_a_fork_is_named_in_the_command_that_goes_on(lousho: Any) -> None:
    lousho("run", "trip")
    assert (
        lousho("fork", "trip", "--from-step", "1", "--model", "scripted/x")
        .err.rstrip()
        .endswith("lousho resume trip.fork-1 --model scripted/x")
    )
    assert "x" in lousho("fork", "trip", "--from-step", "1", "--model", "scripted/x", "--run", "--json").data["usage"]["by_model"]
