"""``--cassette FILE``: the first run records what the model says, the next ones play it, across pauses and kills."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import AgentExecutor, ScriptedProvider, cassette


def entries(folder: Path, name: str = "tape.json") -> list[Any]:
    return json.loads((folder / name).read_text())["entries"]


def is_open(folder: Path) -> bool:
    return json.loads((folder / "tape.json").read_text())["open"]


def test_a_run_is_recorded_and_then_played(project: Any, folder: Path) -> None:
    project.write(["a", "b"], {"text": "done", "usage": {"input_tokens": 7, "output_tokens": 3}})
    first = project.run("Go", "--cassette", "tape.json", "--json")
    assert first.code == 0
    assert f"recording the model's answers to {folder / 'tape.json'}" in first.err
    assert len(project.requests) == 2
    assert (folder / "tape.json").stat().st_mode & 0o777 == 0o600
    again = project.run("Go", "--cassette", "tape.json", "--json", "--store", "elsewhere")
    assert again.code == 0
    assert "replaying 2 recorded calls" in again.err
    assert "no model is asked" in again.err
    assert len(project.requests) == 2
    assert project.counts == {"a": (2, 2), "b": (2, 2)}, "tools run, only the model is played"
    assert again.data == first.data
    plain = project.run("Go", "--json", "--store", "plain")
    shown = [project.lousho("show", "project", "--json", "--store", store).data for store in (".lousho", "elsewhere", "plain")]
    for one in shown:
        one.pop("updated_at", None)
    assert plain.code == 0
    assert shown[0]["fingerprint"] == shown[1]["fingerprint"] == shown[2]["fingerprint"]
    assert shown[0]["messages"] == shown[1]["messages"] == shown[2]["messages"]


def test_a_text_under_a_key_that_names_a_secret_is_in_no_recording_or_export(
    project: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("done")
    (folder / "lousho.toml").write_text('redact_keys = ["ward"]\n')
    said = json.dumps({"password": "hunter2", "Ward": "north", "beds": 7})
    assert project.run(said, "-s", "s", "--cassette", "tape.json").code == 0
    assert project.run(said, "--cassette", "tape.json", "--store", "elsewhere").code == 0  # it is taken out of what is compared, too
    assert len(project.requests) == 1
    clean = json.dumps({"password": "[REDACTED]", "Ward": "[REDACTED]", "beds": 7})
    assert not [word for word in ("hunter2", "north") if word in (folder / "tape.json").read_text()]
    (out,) = [m["content"] for m in json.loads(project.lousho("export", "s", "--to", "openai", "--redact").out) if m["role"] == "user"]
    assert out == clean
    monkeypatch.setenv("LOUSHO_REDACT_KEYS", "beds,nurse")
    assert '"Ward": "north"' in json.loads(project.lousho("export", "s", "--to", "openai", "--redact").out)[1]["content"]


def test_a_pause_goes_on_recording_and_a_replay_pauses_and_goes_on_as_well(project: Any, folder: Path) -> None:
    project.write(["gated"], ["a"], "done", tools=("a", "gated"), gated=("gated",))
    paused = project.run("Go", "-s", "s", "--cassette", "tape.json")
    assert paused.code == 4
    assert paused.err.rstrip().endswith("--cassette tape.json")
    assert (len(entries(folder)), is_open(folder)) == (1, True)
    ran = project.lousho("approve", "s", "--cassette", "tape.json")
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert "going on with" in ran.err
    assert "--cassette" not in ran.err.splitlines()[-1], "a new message is not in it"
    assert (len(entries(folder)), is_open(folder)) == (3, False)
    assert len(project.requests) == 3
    before = (folder / "tape.json").read_bytes()
    assert project.run("Go", "-s", "again", "--cassette", "tape.json").code == 4
    ran = project.lousho("approve", "again", "--cassette", "tape.json")
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert len(project.requests) == 3
    assert (folder / "tape.json").read_bytes() == before


@pytest.mark.parametrize("verb", ["reject", "answer"])
def test_every_command_that_goes_on_takes_it(project: Any, folder: Path, verb: str) -> None:
    tool = "gated" if verb == "reject" else "ask_question"
    call = {"tool_calls": [{"name": "ask-question", "args": {"question": "Where?"}, "id": "call_ask"}]}
    project.write(["gated"] if verb == "reject" else call, "done", tools=("gated",), gated=("gated",), builtin=("ask-question",))
    for name in ("one", "other"):
        assert project.run("Go", "-s", name, "--cassette", "tape.json").code == 4, tool
        ran = project.lousho(verb, name, *(["Here"] if verb == "answer" else []), "--cassette", "tape.json")
        assert (ran.code, ran.out.strip()) == (0, "done"), ran.err
    assert len(project.requests) == 2


def test_a_fork_goes_on_with_what_is_recorded(project: Any, folder: Path) -> None:
    project.write(["a"], ["b"], "done")
    assert project.run("Go", "-s", "s", "--cassette", "tape.json").code == 0
    ran = project.lousho("fork", "s", "--from-step", "2", "--run", "--cassette", "tape.json")
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert len(project.requests) == 3
    other = project.lousho("fork", "s", "--from-step", "1", "--tool-result", "call_a=7", "--run", "--cassette", "tape.json")
    assert other.code == 1
    assert "[LOUSHO_CASSETTE_MISMATCH]" in other.err
    assert "messages[3].content" in other.err


def test_a_killed_run_is_gone_on_with_in_the_same_file(project: Any, folder: Path, spawn: Any) -> None:
    project.write(["a"], ["b"], "done")
    project.hold("b")
    running = spawn("run", "agent.py", "Go", "-s", "s", "--cassette", "tape.json")
    project.until_started("b")
    running.kill()
    running.communicate()
    project.let_go("b")
    assert (len(entries(folder)), is_open(folder)) == (2, True)
    ran = project.lousho("resume", "s", "--cassette", "tape.json")
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert len(project.requests) == 3
    assert (len(entries(folder)), is_open(folder)) == (3, False)
    assert project.run("Go", "-s", "again", "--cassette", "tape.json").code == 0
    assert len(project.requests) == 3


def test_an_answer_that_was_recorded_and_not_saved_is_not_asked_for_again(project: Any, folder: Path) -> None:
    project.write(["a"], "done")
    assert project.run("Go", "-s", "s", "--cassette", "tape.json").code == 0
    log = folder / ".lousho" / "sessions" / "s" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if b'"done"' in line)
    log.write_bytes(b"".join(lines[:cut]))
    for cache in ("head.json", "snapshot.json"):
        (log.parent / cache).unlink(missing_ok=True)
    held = json.loads((folder / "tape.json").read_text()) | {"open": True}
    (folder / "tape.json").write_text(json.dumps(held))
    ran = project.lousho("resume", "s", "--cassette", "tape.json")
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert len(project.requests) == 2
    assert (len(entries(folder)), is_open(folder)) == (2, False)


def test_a_failed_call_is_recorded_and_a_resume_asks_again(project: Any, folder: Path) -> None:
    project.write({"error": {"status": 401, "message": "no"}})
    assert project.run("Go", "-s", "s", "--cassette", "tape.json").code == 1
    assert is_open(folder)
    project.write("done")
    ran = project.lousho("resume", "s", "--cassette", "tape.json")
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert ["error" in entry for entry in entries(folder)] == [True, False]
    again = project.run("Go", "-s", "again", "--cassette", "tape.json", "--json")
    assert again.code == 1
    assert again.data["error"]["code"] == "LOUSHO_PROVIDER_REQUEST_FAILED"
    assert project.lousho("resume", "again", "--cassette", "tape.json").out.strip() == "done"
    assert len(project.requests) == 2


def test_a_mismatch_fails_the_run_in_a_line_and_leaves_it_to_go_on_with(project: Any, folder: Path) -> None:
    project.write(["a"], "done")
    assert project.run("Go", "-s", "s", "--cassette", "tape.json").code == 0
    ran = project.run("Stop", "-s", "other", "--cassette", "tape.json", "--json")
    assert ran.code == 1
    assert ran.data["outcome"] == "failed"
    assert ran.data["error"]["code"] == "LOUSHO_CASSETTE_MISMATCH"
    assert "call 1 is not the one" in ran.data["error"]["message"]
    assert 'messages[1].content is "Stop", recorded was "Go"' in ran.data["error"]["message"]
    assert "Traceback" not in ran.err
    assert len(project.requests) == 2
    assert project.lousho("resume", "other").code == 0


@pytest.mark.parametrize("text", ["", '{"version": 2, "entries": []}'])
def test_a_file_that_can_not_be_used_stops_before_anything_runs(project: Any, folder: Path, text: str) -> None:
    project.write("done")
    (folder / "tape.json").write_text(text)
    ran = project.run("Go", "--cassette", "tape.json")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "[LOUSHO_CASSETTE_INVALID]" in ran.err
    assert project.requests == []
    assert not (folder / ".lousho").exists()
    assert project.run("Go", "--cassette", " ").code == 2


def test_a_place_that_can_not_be_written_fails_before_the_model_is_asked(project: Any) -> None:
    project.write("done")
    ran = project.run("Go", "--cassette", "/proc/nowhere/tape.json")
    assert ran.code == 1
    assert "[LOUSHO_CASSETTE_UNWRITABLE]" in ran.err
    assert project.requests == []


def test_only_looking_makes_no_file(project: Any, folder: Path) -> None:
    project.write(["gated"], "done", tools=("gated",), gated=("gated",))
    assert project.run("Go", "-s", "s").code == 4
    project.lousho("resume", "s", "--check", "--cassette", "tape.json")
    assert not (folder / "tape.json").exists()


def test_replaying_needs_no_key_and_no_network(folder: Path, process: Any) -> None:
    asyncio.run(_record(folder / "tape.json"))
    (folder / "agent.yaml").write_text(
        "name: far\nprompt: Be brief.\nprovider: { type: openai, model: m-9, base_url: http://127.0.0.1:1/v1, api_key_env: NO_SUCH_KEY }\n"
    )
    done = process("run", "agent.yaml", "hi", "--cassette", "tape.json")
    assert (done.returncode, done.stdout) == (0, b"Hello.\n"), done.stderr


async def _record(path: Path) -> None:
    provider = cassette(ScriptedProvider([{"text": "Hello."}], "m-9"), path)
    await AgentExecutor.execute({"name": "far", "prompt": "Be brief."}, "hi", provider)


def test_sub_agents_of_a_file_are_on_the_cassette_too(lousho: Any, folder: Path) -> None:
    (folder / "scout.yaml").write_text("name: scout\nprompt: You scout.\nprovider: { type: scripted, turns: [{ text: sand }] }\n")
    lead = {
        "name": "lead",
        "prompt": "You lead.",
        "provider": {"type": "scripted", "turns": [{"tool_calls": [{"name": "scout", "args": {"input": "look"}}]}, {"text": "done"}]},
        "subagents": {"scout": "scout.yaml"},
    }
    (folder / "lead.json").write_text(json.dumps(lead))
    assert lousho("run", "lead.json", "Go", "--cassette", "tape.json").code == 0
    assert [entry["response"]["text"] for entry in entries(folder)] == ["", "sand", "done"]
    (folder / "scout.yaml").write_text("name: scout\nprompt: You scout.\nprovider: { type: scripted, turns: [{ text: stone }] }\n")
    assert lousho("run", "lead.json", "Go", "--cassette", "tape.json", "-s", "again").code == 0
    assert "sand" in json.dumps(lousho("show", "again", "--json").data)
    (folder / "scout.yaml").write_text("name: scout\nprompt: You look.\nprovider: { type: scripted, turns: [{ text: stone }] }\n")
    ran = lousho("run", "lead.json", "Go", "--cassette", "tape.json", "-s", "changed", "--json")
    assert ran.data["error"]["code"] == "LOUSHO_CASSETTE_MISMATCH"
    assert "run the command with --cassette once more" in ran.err
    assert os.listdir(folder).count("tape.json") == 1


def test_a_replay_says_that_it_asks_again_at_once(lousho: Any, folder: Path) -> None:
    agent = {"name": "busy", "prompt": "p", "provider": {"type": "scripted", "turns": [{"error": {"status": 529, "message": "full"}}]}}
    agent["durability"] = {"retry": {"max_retries": 1, "base_delay": "40ms"}}
    (folder / "busy.json").write_text(json.dumps(agent))
    first, again = (lousho("run", "busy.json", "Go", "--cassette", "tape.json", "-s", name) for name in ("one", "two"))
    assert (first.code, again.code) == (1, 1)
    assert "asking again in 0.0" in first.err
    assert "asking again at once (retry 1 of 1)" in again.err
