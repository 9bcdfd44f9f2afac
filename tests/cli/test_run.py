"""``lousho run``: the demos to the letter, what a word on the command line means, and how a run comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.people import login_name


def last_line(text: str) -> str:
    return text.rstrip("\n").rsplit("\n", 1)[-1]


# The demos


def test_the_trip_demo(lousho: Any) -> None:
    ran = lousho("run", "trip", "Plan my trip")
    assert ran.code == 0
    assert "coast" in ran.out
    assert last_line(ran.err) == 'lousho resume trip "…"'
    shown = lousho("show", "trip", "--json").data
    assert [call["id"] for message in shown["messages"] for call in message.get("tool_calls", ())] == ["call_weather"]
    assert [message["role"] for message in shown["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert shown["step"] == 2


def test_sessions_of_one_agent_are_numbered(lousho: Any) -> None:
    assert [lousho("run", "trip", "--json").data["session"] for _ in range(3)] == ["trip", "trip-2", "trip-3"]


def test_a_fork_of_the_demo_answers_another_way(lousho: Any) -> None:
    lousho("run", "trip", "Plan my trip")
    forked = lousho("fork", "trip", "--from-step", "1", "--tool-result", 'call_weather={"forecast":"rain"}', "--run")
    assert forked.code == 0
    assert "museum" in forked.out
    assert "trip.fork-1" in forked.err
    assert lousho("diff", "trip", "trip.fork-1", "--json").data["diverged_at"] == 1


def test_the_booking_demo_waits_and_is_finished_by_its_approval(lousho: Any) -> None:
    ran = lousho("run", "booking", "--json")
    assert ran.code == 4
    approval = ran.data["approval_id"]
    assert ran.data["status"] == "awaiting-approval"
    assert last_line(ran.err) == f"lousho approve {approval}"
    done = lousho("approve", approval)
    assert done.code == 0
    assert "CLM-2041" in done.out


def test_two_processes_never_begin_the_same_session(spawn: Any, lousho: Any) -> None:
    both = [spawn("run", "trip", "--json") for _ in range(4)]
    named = [json.loads(one.communicate(timeout=30)[0])["data"]["session"] for one in both]
    assert sorted(named) == ["trip", "trip-2", "trip-3", "trip-4"]


# What a word means


@pytest.mark.parametrize("word", ["agent.yaml", "agent.yml", "agent.json", "tools.py", "tools.py:agent", "no/such.yaml"])
def test_a_word_that_looks_like_a_target_is_one(lousho: Any, word: str) -> None:
    ran = lousho("run", word)
    assert ran.code == 2
    assert Path(word.partition(":")[0]).name in ran.err


def test_a_word_that_names_nothing_is_the_input_of_what_is_here(lousho: Any) -> None:
    ran = lousho("run", "Plan my trip", "--json")
    assert ran.code == 0
    assert ran.data["session"] == "trip"
    assert "No agent.yaml here" in ran.err
    assert lousho("show", "trip", "--json").data["messages"][1]["content"] == "Plan my trip"


def test_without_a_target_the_agent_file_here_is_run(lousho: Any) -> None:
    lousho("init")
    ran = lousho("run", "Where to?", "--json")
    assert (ran.code, ran.data["session"]) == (0, "trip")
    assert "built-in" not in ran.err


def test_a_folder_that_holds_an_agent_file_is_a_target(lousho: Any, folder: Path) -> None:
    lousho("init", "sub")
    assert lousho("run", "sub", "Where to?").code == 0


def test_without_input_only_a_demo_has_something_to_say(lousho: Any) -> None:
    lousho("init")
    ran = lousho("run", "agent.yaml")
    assert ran.code == 2
    assert "LOUSHO_CONFIG_MISSING_INPUT" in ran.err
    assert lousho("list", "--json").data == []
    assert lousho("run", "trip").code == 0
    assert lousho("run", "trip", "").code == 2


def test_a_pipe_is_the_input_or_is_attached_to_it(process: Any, lousho: Any) -> None:
    def said(session: str) -> str:
        return str(lousho("show", session, "--json").data["messages"][1]["content"])

    assert process("run", "trip", "-", input=b"from a pipe\n", stdin=None).returncode == 0
    assert process("run", "trip", input=b"from a pipe\n", stdin=None).returncode == 0
    assert process("run", "trip", "Summarise", input=b"line 1\nline 2\n", stdin=None).returncode == 0
    assert [said(f"trip{n}") for n in ("", "-2", "-3")] == ["from a pipe\n", "from a pipe", "Summarise\n\nline 1\nline 2"]


def test_a_pipe_that_stays_silent_holds_up_nobody(spawn: Any) -> None:
    silent, kept_open = os.pipe()
    try:
        running = spawn("run", "trip", "Go", stdin=silent)
        _, err = running.communicate(timeout=20)
    finally:
        os.close(silent)
        os.close(kept_open)
    assert running.returncode == 0
    assert "nothing was attached" in err


# Which session


def test_a_session_is_named_exactly_and_gets_the_next_message(lousho: Any) -> None:
    assert lousho("run", "trip", "One", "-s", "mine").code == 0
    again = lousho("run", "-s", "mine", "Two", "--json")
    assert again.data["session"] == "mine"
    said = [m["content"] for m in lousho("show", "mine", "--json").data["messages"] if m["role"] == "user"]
    assert said == ["One", "Two"]


def test_continue_means_the_last_session_here(lousho: Any) -> None:
    assert lousho("run", "-c", "Hello").code == 3
    lousho("run", "trip", "-s", "old")
    lousho("run", "trip", "-s", "new")
    assert lousho("run", "-c", "And now?", "--json").data["session"] == "new"
    assert lousho("run", "-c", "-s", "new", "And now?").code == 2


@pytest.mark.parametrize("session", ["../x", "", "a" * 300, "a\nb", ".hidden", "-s"])
def test_a_bad_session_id_changes_nothing(lousho: Any, folder: Path, session: str) -> None:
    assert lousho("run", "trip", f"--session={session}").code == 2
    assert not (folder / ".lousho").exists()


def test_the_same_input_id_is_the_same_input(project: Any) -> None:
    project.write(["a"], "one", "two")
    first = project.run("Count", "-s", "s", "--input-id", "in-1")
    before = project.log("s")
    again = project.run("Count", "-s", "s", "--input-id", "in-1", "--json")
    assert (first.code, again.code, again.data["text"]) == (0, 0, "one")
    assert project.log("s") == before
    other = project.run("Something else", "-s", "s", "--input-id", "in-1")
    assert other.code == 2
    assert "LOUSHO_INPUT_CONFLICT" in other.err
    assert project.log("s") == before


# How it comes back


def test_the_envelope_of_a_run(project: Any) -> None:
    project.write(["a"], {"text": "done", "usage": {"input_tokens": 7, "output_tokens": 3}})
    ran = project.run("Count", "--json")
    body = json.loads(ran.out)
    assert (body["schema"], body["command"], body["warnings"]) == (1, "run", [])
    data = body["data"]
    assert {name: data[name] for name in ("session", "status", "outcome", "finish_reason", "text", "steps")} == {
        "session": "project",
        "status": "finished",
        "outcome": "completed",
        "finish_reason": "stop",
        "text": "done",
        "steps": 2,
    }
    assert data["usage"]["model_calls"] == 2


def test_ndjson_is_events_with_a_rising_cursor_then_the_envelope(project: Any) -> None:
    project.write(["a"], "done")
    lines = [json.loads(line) for line in project.run("Count", "--output", "ndjson").out.splitlines()]
    *events, envelope = lines
    assert envelope["data"]["text"] == "done"
    assert [event["type"] for event in events][0] == "run.start"
    assert events[-1]["type"] == "run.done"
    assert {"step.start", "tool.start", "tool.done", "text.delta", "step.done", "step.saved"} <= {event["type"] for event in events}
    cursors = [(event["cursor"]["seq"], event["cursor"]["index"]) for event in events]
    assert cursors == sorted(cursors)
    assert len(set(cursors)) == len(cursors)


def test_quiet_leaves_only_the_answer(project: Any) -> None:
    project.write({"text": "Let me look.", "tool_calls": [{"name": "a"}]}, "done")
    ran = project.run("Count", "-q")
    assert (ran.out, ran.err) == ("done\n", "")


def test_a_step_is_called_saved_once(project: Any) -> None:
    project.write(["a", "b"], "done")
    assert project.run("Count").err.splitlines()[:2] == ["step 1 saved: calls a, b", "step 2 saved: answer"]


def test_the_limit_of_steps_is_an_exit_code_of_its_own(project: Any) -> None:
    project.write(*[{"tool_calls": [{"name": "a"}]}] * 5, "never")
    ran = project.run("Count", "--max-steps", "2", "--json")
    assert (ran.code, ran.data["finish_reason"], ran.data["steps"]) == (9, "max-steps", 2)


def test_case_019_a_failed_run_ends_with_the_command_that_goes_on(project: Any) -> None:
    project.write({"error": {"status": 400, "message": "no such model"}})
    ran = project.run("Count")
    assert ran.code == 1
    assert last_line(ran.err) == "lousho resume project"
    assert "no such model" in ran.err
    again = project.lousho("resume", "project", "--json")
    body = json.loads(again.out)
    assert again.code == 1
    assert body["data"]["outcome"] == "failed"
    assert body["data"]["error"]["code"] == body["error"]["code"] == "LOUSHO_PROVIDER_REQUEST_FAILED"
    assert (body["error"]["session"], body["error"]["retryable"]) == ("project", False)


def test_case_031_a_gated_call_without_a_terminal_ends_the_command(project: Any, process: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    ran = process("run", "agent.py", "Go", timeout=30)
    assert ran.returncode == 4
    assert last_line(ran.stderr.decode()).startswith("lousho approve ")
    assert project.counts == {}


def test_case_026_a_session_that_waits_takes_no_message(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    approval = project.run("Go", "-s", "s", "--json").data["approval_id"]
    before, asked = project.log("s"), len(project.requests)
    ran = project.run("skip that", "-s", "s")
    assert ran.code == 4
    assert f"lousho approve {approval}" in ran.err
    assert (project.log("s"), len(project.requests), project.counts) == (before, asked, {})


def test_case_006_the_same_prompt_after_a_crash_stands_once(project: Any, spawn: Any) -> None:
    project.write(["a", "b"], "done")
    project.hold("b")
    running = spawn("run", "agent.py", "count files", "-s", "s")
    project.until_started("b")
    running.kill()
    running.wait()
    project.let_go("b")
    assert project.run("count files", "-s", "s").code == 0
    said = [m["content"] for m in project.requests[-1]["messages"] if m["role"] == "user"]
    assert said == ["count files"]
    assert project.counts == {"a": (1, 1), "b": (2, 1)}


def test_case_008_a_failed_model_call_repeats_no_tool(project: Any) -> None:
    project.write(["a"], {"error": {"status": 400, "message": "bad"}})
    assert project.run("Count", "-s", "s").code == 1
    project.write(["a"], "done")
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"a": (1, 1)}
    assert len(project.requests) == 3


def test_case_016_a_resumed_request_offers_the_same_tools(project: Any, spawn: Any) -> None:
    project.write(["b"], "done", tools=["c", "a", "b"])
    project.hold("b")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("b")
    running.kill()
    running.wait()
    project.let_go("b")
    assert project.lousho("resume", "s").code == 0
    first, last = project.requests[0], project.requests[-1]
    assert first["tools"] == ["c", "a", "b"]
    assert (first["tools"], first["schemas"]) == (last["tools"], last["schemas"])


def test_case_194_a_folder_that_can_not_be_written_is_named(process: Any, folder: Path) -> None:
    store = folder / "locked"
    store.mkdir(mode=0o500)
    if os.access(store, os.W_OK):
        pytest.skip("this user may write everywhere")
    ran = process("run", "trip", "--store", str(store))
    assert ran.returncode == 1
    assert str(store) in ran.stderr.decode()
    assert "busy" not in ran.stderr.decode().lower()


def test_case_200_a_closed_stdout_does_not_abort_the_run(project: Any, spawn: Any) -> None:
    project.write(["a"], ["b"], "done")
    project.hold("a")
    reader, writer = os.pipe()
    running = spawn("run", "agent.py", "Go", "-s", "s", "--output", "ndjson", stdout=writer)
    os.close(writer)
    project.until_started("a")
    os.close(reader)
    project.let_go("a")
    _, err = running.communicate(timeout=20)
    assert running.returncode == 0
    assert "Exception" not in err
    assert "Traceback" not in err
    assert project.lousho("show", "s", "--json").data["status"] == "finished"


def test_a_tool_that_stops_the_run_fails_it_and_its_call_runs_again(project: Any) -> None:
    project.write(["stopper"], "done", tools=["stopper"])
    ran = project.run("Go", "-s", "s", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["error"]["message"] == "out of order"
    (project.folder / "mended").touch()
    project.write(["stopper"], "done", tools=["stopper"])
    assert project.lousho("resume", "s").code == 0
    assert project.counts == {"stopper": (1, 1)}


def test_yes_approves_every_call_and_says_who(project: Any) -> None:
    project.write(["gated"], {"tool_calls": [{"name": "gated", "id": "call_2"}]}, "done", tools=["gated"], gated=["gated"])
    ran = project.run("Go", "-s", "s", "--yes", "--json")
    assert (ran.code, ran.data["text"]) == (0, "done")
    assert project.counts == {"gated": (2, 2)}
    answered = [json.loads(line) for line in project.lousho("follow", "s", "--json").out.splitlines()]
    assert {item["record"]["by"] for item in answered if item["type"] == "lousho.wait_answered"} == {login_name()}


# Limits and settings


def test_a_limit_that_nobody_would_watch_is_refused(project: Any) -> None:
    project.write("done", policy={"limits": {"max_cost_usd": 1}})
    ran = project.run("Go")
    assert ran.code == 2
    assert "LOUSHO_PRICE_UNKNOWN" in ran.err
    assert project.lousho("list", "--json").data == []


def test_transient_errors_are_retried_by_default(lousho: Any, folder: Path) -> None:
    agent = {
        "name": "flaky",
        "prompt": "p",
        "provider": {"type": "scripted", "turns": [{"text": "done", "error": {"status": 503, "retry_after": "0", "times": 2}}]},
    }
    (folder / "agent.json").write_text(json.dumps(agent))
    ran = lousho("run", "agent.json", "Go")
    assert (ran.code, ran.out) == (0, "done\n")
    assert ran.err.count("retry") == 2
    (folder / "agent.json").write_text(json.dumps(agent | {"durability": {"retry": False}}))
    assert lousho("run", "agent.json", "Go").code == 1


def test_another_model_of_the_same_provider(lousho: Any, folder: Path) -> None:
    ran = lousho("run", "trip", "--model", "scripted/other", "--json")
    assert list(ran.data["usage"]["by_model"]) == ["other"]
    assert lousho("run", "trip", "--model", "scriptd/other").code == 2


def test_notify_is_told_when_a_run_waits_or_fails(project: Any) -> None:
    page = project.folder / "page.sh"
    page.write_text('#!/bin/sh\ncat > "$1.part"; mv "$1.part" "$1"\n')
    page.chmod(0o700)
    project.write(["gated"], "done", tools=["gated"], gated=["gated"], notify=["./page.sh waits.json"])
    ran = project.run("Go", "--json")
    told = json.loads(project.until(lambda: (project.folder / "waits.json").exists() and (project.folder / "waits.json").read_text()))
    assert (told["id"], told["tool"], told["session"]) == (ran.data["approval_id"], "gated", "project")
    project.write({"error": {"status": 400, "message": "bad"}}, notify=["./page.sh fails.json"])
    project.run("Go")
    told = json.loads(project.until(lambda: (project.folder / "fails.json").exists() and (project.folder / "fails.json").read_text()))
    assert (told["session"], told["kind"]) == ("project-2", "failed")


# Somebody else drives it


def test_a_driven_session_is_busy_and_says_who(project: Any, spawn: Any) -> None:
    project.write(["a"], "one", "two")
    project.hold("a")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    for command in (("run", "agent.py", "More", "-s", "s"), ("resume", "s")):
        ran = project.lousho(*command)
        assert ran.code == 5
        assert f"pid {running.pid}" in ran.err
    project.let_go("a")
    assert running.wait(20) == 0


def test_a_queued_input_is_taken_by_the_owner_and_its_turn_comes_back_here(project: Any, spawn: Any) -> None:
    project.write(["a"], "one", "two")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s", "--json")
    project.until_started("a")
    other = spawn("run", "agent.py", "More", "-s", "s", "--queue", "--input-id", "in-2", "--output", "ndjson")
    project.until(lambda: b'"in-2"' in project.log("s"))
    project.let_go("a")
    out, err = other.communicate(timeout=20)
    *events, envelope = [json.loads(line) for line in out.splitlines()]
    assert other.returncode == 0
    assert envelope["data"]["text"] == "two"
    assert [event["data"]["text"] for event in events if event["type"] == "step.done"] == ["two"]
    assert "".join(event["data"]["text"] for event in events if event["type"] == "text.delta") == "two"
    assert "error" not in {event["type"] for event in events}
    assert "queued as input in-2" in err
    assert json.loads(owner.communicate(timeout=20)[0])["data"]["outcome"] == "completed"
    assert [m["content"] for m in project.messages("s") if m["role"] == "user"] == ["Go", "More"]


def test_a_queued_input_survives_its_owner_and_is_driven_here(project: Any, spawn: Any) -> None:
    project.write(["a"], "one", "two")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a")
    other = spawn("run", "agent.py", "More", "-s", "s", "--queue", "--json")
    project.until(lambda: b"More" in project.log("s"))
    owner.kill()
    owner.wait()
    project.let_go("a")
    out, _ = other.communicate(timeout=20)
    assert other.returncode == 0
    assert json.loads(out)["data"]["text"] == "two"
    assert project.counts == {"a": (2, 1)}


def test_a_queued_input_does_not_bring_an_aborted_turn_back(project: Any, spawn: Any) -> None:
    project.write(["a"], "one", "two")
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s", "--input-id", "in-1")
    project.until_started("a")
    other = spawn("run", "agent.py", "More", "-s", "s", "--queue", "--input-id", "in-2", "--json")
    project.until(lambda: b'"in-2"' in project.log("s"))
    aborting = spawn("abort", "s")
    project.until(lambda: b"lousho.abort_asked" in project.log("s"))
    project.let_go("a")
    assert (owner.wait(20), aborting.wait(20)) == (130, 0)
    out, _ = other.communicate(timeout=20)
    assert other.returncode == 0
    assert json.loads(out)["data"]["text"] == "one"
    ends = [record for line in project.log("s").splitlines() if line for record in json.loads(line)["records"]]
    settled = [(end["id"], end["outcome"]) for end in ends if end["type"] == "lousho.input_settled"]
    assert settled == [("in-1", "aborted"), ("in-2", "completed")]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_pipe_gets_no_colour_and_no_spinner(process: Any, stream: str) -> None:
    ran = process("run", "trip")
    assert b"\x1b" not in getattr(ran, stream)


def test_standard_input_that_is_closed_is_no_input(process: Any) -> None:
    assert process("run", "trip", stdin=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("saved", [True, False])
def test_a_store_that_fails_names_the_command_that_goes_on_where_something_stands(project: Any, saved: bool) -> None:
    long = "x" * 8000  # the log may not grow past 4 KiB
    project.write(["a"], long if saved else "done")
    limited = ["bash", "-c", 'ulimit -f 4; exec "$0" "$@"', sys.executable, "-m", "lousho_cli"]
    ran = subprocess.run(
        [*limited, "run", "agent.py", "Go" if saved else long, "-s", "s"],
        cwd=project.folder,
        env=os.environ | {"LOUSHO_STORE": str(project.folder / ".lousho"), "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ran.returncode == 1
    assert "LOUSHO_STORAGE_FAILED" in ran.stderr
    assert ("Go on with: lousho resume s" in ran.stderr) == saved
    assert project.run("Go", "-s", "s").code == 0


def test_an_error_of_a_stream_is_its_last_line(lousho: Any) -> None:
    (line,) = lousho("run", "agent.yaml", "Go", "--output", "ndjson").out.splitlines()
    assert json.loads(line)["error"]["code"] == "LOUSHO_SPEC_NOT_FOUND"


def test_a_queuer_sees_the_text_while_its_owner_gets_it(project: Any, spawn: Any) -> None:
    long = {"text": "one piece after another, " * 8, "delay": 1.0}
    project.write(["a"], "one", long)
    project.hold("a")
    owner = spawn("run", "agent.py", "Go", "-s", "s", "--json")
    project.until_started("a")
    other = spawn("run", "agent.py", "More", "-s", "s", "--queue", "--output", "ndjson")
    project.until(lambda: b"More" in project.log("s"))
    project.let_go("a")
    out, _ = other.communicate(timeout=20)
    *events, envelope = [json.loads(line) for line in out.splitlines()]
    pieces = [event["data"]["text"] for event in events if event["type"] == "text.delta"]
    assert len(pieces) > 1
    assert "".join(pieces) == envelope["data"]["text"] == long["text"]
    owner.communicate(timeout=20)


@pytest.mark.parametrize("blank", ["", " \n "])
def test_blank_input_is_refused_everywhere(lousho: Any, blank: str) -> None:
    assert lousho("run", "trip", "Go", "-s", "s").code == 0
    before = lousho("show", "s", "--json").data["messages"]
    for args in (
        ("run", "trip", blank),
        ("run", "-s", "s", blank),
        ("resume", "s", blank),
        ("run", "trip", "Go", "--input-id", blank),
        ("fork", "s", "--from-step", "1", "--append-input", blank),
    ):
        assert lousho(*args).code == 2
    assert lousho("show", "s", "--json").data["messages"] == before
    assert [one["id"] for one in lousho("list", "--json").data] == ["s"]


@pytest.mark.parametrize("model", ["foo", ""])
def test_a_model_is_named_with_its_provider(lousho: Any, model: str) -> None:
    ran = lousho("run", "trip", "Go", "--model", model)
    assert (ran.code, "provider/model" in ran.err) == (2, True)
    assert lousho("list", "--json").data == []


def test_a_run_that_waits_says_for_what(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    ran = project.run("Go", "-s", "s")
    (item,) = project.lousho("pending", "--json").data
    said = ran.err.splitlines()
    assert said[-3:] == [
        'session s waits for a person: gated {"n":0}',
        f"  id {item['id']}, digest {item['digest']}",
        f"lousho approve {item['id']}",
    ]
    approved = project.lousho("approve", "s")
    assert approved.err.splitlines()[0] == 'approving in s: gated {"n":0}'


def test_quiet_leaves_the_approval_of_a_run_that_waits(project: Any) -> None:
    project.write({"text": "May I?", "tool_calls": [{"name": "gated"}]}, "done", tools=["gated"], gated=["gated"])
    ran = project.run("Go", "-s", "s", "-q")
    assert (ran.code, ran.out) == (4, project.lousho("pending", "--json").data[0]["id"] + "\n")


def test_a_tool_that_failed_is_named_with_its_reason(project: Any, folder: Path) -> None:
    (folder / "tools.py").write_text('def bad() -> str:\n    """Fails."""\n    raise ValueError("no\\nway")\n')
    agent = {
        "name": "bad",
        "prompt": "p",
        "provider": {"type": "scripted", "turns": [{"tool_calls": [{"name": "bad"}]}, "done"]},
        "tools": [{"python": "tools.py:bad"}],
    }
    (folder / "agent.json").write_text(json.dumps(agent))
    assert "step 1: failed: bad, no\\nway" in project.lousho("run", "agent.json", "Go").err.splitlines()


def test_a_store_that_ends_with_the_process_names_no_command_that_goes_on(lousho: Any) -> None:
    ran = lousho("run", "trip", "--store", "memory:")
    assert (ran.code, "lousho resume" in ran.err) == (0, False)
    assert "lousho resume" in lousho("run", "trip").err
