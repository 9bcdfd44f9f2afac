"""``pending``, ``approve``, ``reject``, ``answer``: decided once, bound to the call, and on with the run."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from lousho_cli.app.people import login_name
from lousho_cli.domain.texts import EDITED_TOOL_NOTE


@pytest.fixture
def pause(project: Any) -> Any:
    """A session that waits; gives the approval's id."""

    def wait(*turns: Any, session: str = "s", **agent: Any) -> str:
        project.write(*(turns or (["gated"], "done")), **({"tools": ["a", "b", "c", "gated"], "gated": ["gated"]} | agent))
        ran = project.run("Go", "-s", session, "--json")
        assert ran.code == 4
        return str(ran.data["approval_id"])

    return wait


def told(project: Any, number: int = -1) -> dict[str, Any]:
    """The results in a request, by call id."""
    return {m["tool_call_id"]: json.loads(m["content"]) for m in project.requests[number]["messages"] if m["role"] == "tool"}


def answered(project: Any, session: str = "s") -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in project.log(session).decode().splitlines() if line.startswith('{"crc"')]
    return [record for line in lines for record in line["records"] if record["type"] == "lousho.wait_answered"]


def test_case_020_two_gated_calls_decided_apart(project: Any, pause: Any) -> None:
    first = pause(["a", "b"], "done", gated=["a", "b"])
    second = project.lousho("approve", first, "--json")
    assert second.code == 4
    ran = project.lousho("reject", second.data["approval_id"], "--reason", "no")
    assert ran.code == 0
    assert project.counts == {"a": (1, 1)}
    results = told(project)
    assert list(results) == ["call_a", "call_b"]
    assert (results["call_b"]["kind"], results["call_b"]["note"]) == ("rejected", "no")


def test_case_021_a_gated_call_between_free_ones(project: Any, pause: Any) -> None:
    approval = pause(["a", "b", "c"], "done", gated=["b"])
    assert project.counts == {"a": (1, 1)}
    assert project.lousho("approve", approval).code == 0
    assert project.counts == {"a": (1, 1), "b": (1, 1), "c": (1, 1)}
    assert list(told(project)) == ["call_a", "call_b", "call_c"]
    assert len(project.requests) == 2


@pytest.mark.parametrize("rejecting", [0, 10])
def test_case_022_of_twenty_at_once_exactly_one_decides(project: Any, pause: Any, spawn: Any, rejecting: int) -> None:
    approval = pause()
    verbs = ["reject"] * rejecting + ["approve"] * (20 - rejecting)
    running = [(verb, spawn(verb, approval)) for verb in verbs]
    ended = [(verb, one.communicate(timeout=60)[1], one.returncode) for verb, one in running]
    won = [verb for verb, _, code in ended if code == 0]
    assert len(won) == 1, [(verb, code, err[-300:]) for verb, err, code in ended]
    assert {code for _, _, code in ended} == {0, 3}
    assert all("decided" in err for _, err, code in ended if code == 3)
    (decision,) = answered(project)
    assert decision["approved"] == (won == ["approve"])
    assert project.counts.get("gated", (0, 0)) == ((1, 1) if won == ["approve"] else (0, 0))
    assert project.lousho("show", "s", "--json").data["status"] == "finished"


def test_case_024_a_model_that_fails_behind_an_approval_repeats_no_tool(project: Any, pause: Any) -> None:
    approval = pause(["gated"], {"error": "disconnect"})
    failed = project.lousho("approve", approval)
    assert failed.code == 1
    assert failed.err.rstrip().endswith("lousho resume s")
    asked = len(project.requests)
    project.write(["gated"], "done", tools=["a", "b", "c", "gated"], gated=["gated"])
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"gated": (1, 1)}
    assert len(project.requests) == asked + 1


def test_case_025_the_reason_reaches_the_model(project: Any, pause: Any, process: Any) -> None:
    approval = pause()
    assert process("reject", approval, "--reason", "not on Fridays").returncode == 0
    assert told(project)["call_gated"]["note"] == "not on Fridays"
    assert project.counts == {}


def test_case_027_another_message_after_a_rejection(project: Any, pause: Any) -> None:
    approval = pause(["gated"], "well", "done")
    assert project.lousho("reject", approval, "--no-resume").code == 0
    assert project.run("try another way", "-s", "s").code == 0
    roles = [m["role"] for m in project.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_case_028_another_process_sees_what_waits(project: Any, pause: Any, process: Any) -> None:
    approval = pause({"tool_calls": [{"name": "gated", "id": "call_x", "args": {"n": 7}}]}, "done")
    (item,) = json.loads(process("pending", "--json").stdout)["data"]
    assert (item["id"], item["session"], item["tool"], item["args"], item["tool_call_id"]) == (approval, "s", "gated", {"n": 7}, "call_x")
    assert (item["kind"], item["path"], len(item["digest"])) == ("tool", [], 16)
    shown = json.loads(process("show", "s", "--json").stdout)["data"]["waits_for"]
    assert (shown["id"], shown["tool"], shown["args"], shown["tool_call_id"]) == (approval, "gated", {"n": 7}, "call_x")


def test_case_029_exactly_what_was_shown_runs(project: Any, pause: Any) -> None:
    approval = pause({"tool_calls": [{"name": "gated", "id": "call_x", "args": {"n": 100}}]}, "done")
    other = {"tool_calls": [{"name": "gated", "id": "call_x", "args": {"n": 999}}]}
    project.write(other, "done", tools=["a", "b", "c", "gated"], gated=["gated"])
    (item,) = project.lousho("pending", "--json").data
    assert project.lousho("approve", approval).code == 0
    assert told(project)["call_x"] == {"tool": "gated", "n": 100}
    assert item["args"] == {"n": 100}
    assert len(project.requests) == 2


def test_case_034_five_gated_calls_are_five_approvals(project: Any, pause: Any) -> None:
    names = ["a", "b", "c", "d", "e"]
    ids = [pause(names, "done", tools=names, gated=names)]
    for _ in range(4):
        ids.append(project.lousho("approve", ids[-1], "--json").data["approval_id"])
    assert project.lousho("approve", ids[-1]).code == 0
    assert len(set(ids)) == 5
    assert project.counts == dict.fromkeys(names, (1, 1))
    assert len(project.requests) == 2


def test_an_id_its_beginning_a_session_and_its_beginning_are_understood(project: Any, pause: Any) -> None:
    for number, name in enumerate(("whole", "start", "session", "sess-prefix")):
        approval = pause(session=f"{name}-{number}")
        word = [approval, approval[:4], f"{name}-{number}", "sess-"][number]
        assert project.lousho("approve", word).code == 0


def test_what_is_unknown_ambiguous_or_decided_is_refused_with_a_list(project: Any, pause: Any) -> None:
    first, second = pause(session="one"), pause(session="one-2")
    unknown = project.lousho("approve", "zzzz")
    assert (unknown.code, first in unknown.err, second in unknown.err) == (3, True, True)
    assert project.lousho("approve", first[:3]).code == 3
    several = project.lousho("approve", "on")
    assert (several.code, first in several.err, second in several.err) == (3, True, True)
    assert project.lousho("approve", "one").code == 0
    decided = project.lousho("approve", first)
    assert (decided.code, "already decided" in decided.err) == (3, True)
    assert "waits for nobody" in project.lousho("approve", "one").err
    assert [item["id"] for item in project.lousho("pending", "--json").data] == [second]


def test_an_edit_is_what_runs_and_is_digested_anew(project: Any, pause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    approval = pause()
    digest = project.lousho("pending", "--json").data[0]["digest"]
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"n": 5}'))
    assert project.lousho("approve", approval, "--edit", "-", "--note", "fewer").code == 0
    said = told(project)["call_gated"]
    assert said["result"]["n"] == 5
    assert said["review"] == {"note": "fewer", "edited": EDITED_TOOL_NOTE, "arguments": {"n": 5}}
    (decision,) = answered(project)
    assert (decision["args"], decision["note"], decision["by"]) == ({"n": 5}, "fewer", login_name())
    assert len(decision["digest"]) == 16
    assert decision["digest"] != digest


@pytest.mark.parametrize("edit", ['{"n": "five"}', "{", '{"m": 1}', "null", "[]"])
@pytest.mark.parametrize("more", [(), ("--no-resume",)])
def test_a_bad_edit_changes_nothing(project: Any, pause: Any, edit: str, more: tuple[str, ...]) -> None:
    approval = pause()
    (project.folder / "edit.json").write_text(edit)
    before = project.log("s")
    assert project.lousho("approve", approval, "--edit", "edit.json", *more).code == 2
    assert project.log("s") == before
    assert [item["id"] for item in project.lousho("pending", "--json").data] == [approval]
    assert project.lousho("approve", approval, "--edit", "missing.json").code == 2


def test_no_resume_only_records_and_needs_no_agent(project: Any, pause: Any) -> None:
    approval = pause()
    (project.folder / "agent.py").rename(project.folder / "away.py")
    assert project.lousho("approve", approval).code == 2
    ran = project.lousho("approve", approval, "--no-resume")
    assert (ran.code, ran.out) == (0, f"approved {approval}\n")
    assert ran.err.rstrip().endswith("lousho resume s")
    assert project.counts == {}
    assert project.lousho("pending", "--json").data == []
    (project.folder / "away.py").rename(project.folder / "agent.py")
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"gated": (1, 1)}


def test_a_decision_for_a_driven_session_is_left_for_its_owner(project: Any, pause: Any, spawn: Any) -> None:
    approval = pause()
    project.hold("gated")
    owner = spawn("approve", approval)
    project.until_started("gated")
    late = spawn("reject", approval)
    assert late.wait(20) == 3
    project.let_go("gated")
    assert owner.wait(20) == 0


def test_an_approval_that_expired_is_told_and_does_not_run(project: Any, pause: Any) -> None:
    approval = pause(policy={"approval_ttl": "1ms"})
    ran = project.lousho("approve", approval)
    assert "too late" in ran.err
    assert project.counts == {}
    assert told(project)["call_gated"]["reason"] == "approval expired"


# Questions


def question(**args: Any) -> list[Any]:
    return [{"tool_calls": [{"name": "ask-question", "id": "call_q", "args": {"question": "Which way?", **args}}]}, "done"]


def test_an_answer_reaches_the_model(project: Any, pause: Any) -> None:
    approval = pause(*question(options=["train", "car"]), builtin=["ask-question"])
    (item,) = project.lousho("pending", "--json").data
    assert (item["kind"], item["question"], item["options"]) == ("question", "Which way?", ["train", "car"])
    assert project.lousho("approve", approval).code == 2
    assert project.lousho("answer", approval).code == 2
    assert project.lousho("answer", approval, "train").code == 0
    assert told(project)["call_q"] == {"answer": "train", "option": 0}


def test_an_answer_that_is_none_of_the_choices_is_refused(project: Any, pause: Any) -> None:
    approval = pause(*question(options=["train", "car"], allow_free_text=False), builtin=["ask-question"])
    before = project.log("s")
    ran = project.lousho("answer", approval, "plane")
    assert (ran.code, "train, car" in ran.err, project.log("s")) == (2, True, before)


def test_a_question_can_be_declined_and_a_call_can_not_be_answered(project: Any, pause: Any) -> None:
    approval = pause(*question(), builtin=["ask-question"])
    assert project.lousho("reject", approval, "--reason", "later").code == 0
    assert told(project)["call_q"]["note"] == "later"
    assert project.lousho("answer", pause(session="t"), "yes").code == 2


def test_a_secret_is_never_an_argument_and_never_stored(project: Any, pause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    approval = pause(*question(secret=True), builtin=["ask-question"])
    refused = project.lousho("answer", approval, "hunter2")
    assert (refused.code, "LOUSHO_SECRET_ARGUMENT" in refused.err) == (2, True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter2\n"))
    assert project.lousho("answer", approval, "-").code == 0
    assert told(project)["call_q"] == {"answer": "[secret]"}
    stored = b"".join(file.read_bytes() for file in (project.folder / ".lousho").rglob("*") if file.is_file())
    assert b"hunter2" not in stored


def test_pending_as_text_and_without_anything(project: Any, pause: Any) -> None:
    assert project.lousho("pending").out == ""
    assert not (project.folder / ".lousho").exists()
    approval = pause()
    table = project.lousho("pending").out
    assert approval in table
    assert '{"n":0}' in table
    assert project.lousho("pending", "-q").out == f"{approval}\n"


def test_a_wrong_answer_at_the_prompt_is_asked_for_again(project: Any, pause: Any, terminal: Any) -> None:
    pause(*question(options=["train", "car"], allow_free_text=False), builtin=["ask-question"])
    asking = terminal("answer", "s")
    asking.until("Which way?")
    asking.type("plane\n")
    asking.until("is not one of the answers")
    asking.type("car\n")
    assert asking.ended() == 0
    (answered,) = [m for m in project.messages("s") if m["role"] == "tool"]
    assert json.loads(answered["content"]) == {"answer": "car", "option": 1}


@pytest.mark.parametrize(("verb", "first"), [("approve", "will run: gated (call_gated), a (call_a)"), ("reject", "will run: a (call_a)")])
def test_what_follows_from_a_decision_is_said_first(project: Any, pause: Any, verb: str, first: str) -> None:
    pause(["gated", "a"], "done")
    said = project.lousho(verb, "s").err.splitlines()
    assert said[:2] == [f'{verb.removesuffix("e")}ing in s: gated {{"n":0}}', first]
