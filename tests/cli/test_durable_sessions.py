"""Durable sessions from the command line: what is said on which stream, and with which exit code."""

from __future__ import annotations

import json
import signal
from typing import Any


def test_ds_175_quiet_leaves_the_answer_alone_and_the_exit_code_says_how_it_went(project: Any, spawn: Any) -> None:
    project.write("The answer.")
    ran = project.run("Go", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "The answer.\n", "")
    project.write({"error": {"status": 400, "message": "bad"}})
    assert project.run("Go", "-q").code == 1
    project.write(["a"], {"text": "Late.", "delay": 60})
    running = spawn("run", "agent.py", "Go", "-q", "-s", "s")
    project.until(lambda: project.counts == {"a": (1, 1)})  # so it asks the model again, or is about to
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=20)
    assert (running.returncode, out) == (130, "")


def test_ds_176_a_turn_that_waits_for_a_person_is_exit_4_and_stderr_says_so(project: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    ran = project.run("Go", "-s", "s")
    assert (ran.code, ran.out) == (4, "")
    assert "session s waits for a person: gated" in ran.err


def test_ds_177_each_line_of_ndjson_is_json_and_the_end_of_the_run_stands_before_the_envelope(project: Any) -> None:
    project.write(["a"], "done")
    ran = project.run("Go", "--output", "ndjson")
    said = [json.loads(line) for line in ran.out.splitlines()]
    assert (said[-2]["type"], said[-1]["data"]["text"]) == ("run.done", "done")


def test_ds_178_a_pipe_is_one_input_and_what_answers_is_named(project: Any, process: Any) -> None:
    project.write(["gated"], "done", tools=["gated"], gated=["gated"])
    ran = process("run", "agent.py", "-", "-s", "s", stdin=None, input=b"first line\nsecond line\n")
    assert ran.returncode == 4
    assert b"lousho approve " in ran.stderr.splitlines()[-1]
    (said,) = [m["content"] for m in project.messages("s") if m["role"] == "user"]
    assert said == "first line\nsecond line\n"


def test_ds_179_a_secret_that_is_typed_is_shown_nowhere(project: Any, terminal: Any) -> None:
    asks = {"tool_calls": [{"name": "ask-question", "id": "call_q", "args": {"question": "Which key?", "secret": True}}]}
    project.write(asks, "done", builtin=["ask-question"])
    approval = project.run("Go", "-s", "s", "--json").data["approval_id"]
    answering = terminal("answer", approval)
    answering.until("Which key?")
    answering.type("hunter2\n")
    assert answering.ended() == 0
    assert "done" in answering.said
    assert "hunter2" not in answering.said


def test_ds_180_an_unknown_flag_or_format_is_an_error_in_one_line(project: Any) -> None:
    for words in (("run", "trip", "--nonsense"), ("run", "trip", "--output", "xml"), ("worker", "--concurrency", "0")):
        ran = project.lousho(*words)
        assert ran.code == 2
        assert "Traceback" not in ran.err
        assert ran.err.startswith("error: ")
        assert len(ran.err.splitlines()) == 1
