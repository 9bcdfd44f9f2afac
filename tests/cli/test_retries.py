"""Failed model calls on the command line: asked again by default, said so in one line, and counted across a kill."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ALWAYS_BUSY = {"error": {"status": 529, "message": "Overloaded"}}

Write = Callable[..., None]


@pytest.fixture
def write(folder: Path) -> Write:
    """Writes the agent file: its model answers as the turns say."""

    def write(*turns: Any, **durability: Any) -> None:
        agent = {"name": "s", "prompt": "p", "provider": {"type": "scripted", "turns": turns}, "durability": durability}
        (folder / "agent.json").write_text(json.dumps(agent))

    return write


def retries(folder: Path) -> list[tuple[int, int]]:
    """Count and limit of each retry in the log."""
    log = folder / ".lousho" / "sessions" / "s" / "log.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    records = [record for line in lines if line.strip() for record in json.loads(line)["records"]]
    return [(record["count"], record["limit"]) for record in records if record["type"] == "lousho.model_retry"]


def test_ds_138_a_retry_is_one_line_and_the_run_ends_well(lousho: Any, write: Write) -> None:
    write({"error": {"status": 429, "message": "slow down", "retry_after": "0.02", "times": 1}, "text": "done"})
    ran = lousho("run", "agent.json", "Go")
    assert (ran.code, ran.out.strip()) == (0, "done")
    lines = [line for line in ran.err.splitlines() if "slow down" in line]
    assert lines == ["rate limited: the model server answered 429: slow down; asking again in 0.02 s (retry 1 of 3)"]
    assert "error" not in lousho("list", "--json").data[0]


def test_ds_130_the_last_failure_is_one_error(lousho: Any, write: Write, folder: Path) -> None:
    write({"error": {"status": 529, "message": "Overloaded", "retry_after": "0"}})
    ran = lousho("run", "agent.json", "Go", "--output", "ndjson")
    *events, envelope = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, [event["type"] for event in events].count("provider.retry")) == (1, 3)
    assert [event["data"]["message"] for event in events if event["type"] == "error"] == ["the model server answered 529: Overloaded"]
    assert envelope["error"]["retryable"] is True
    assert retries(folder) == [(1, 3), (2, 3), (3, 3)]


def test_ds_135_a_process_killed_in_its_wait_gives_no_new_retries(
    lousho: Any, project: Any, spawn: Any, write: Write, folder: Path
) -> None:
    write(ALWAYS_BUSY, retry={"max_retries": 2, "base_delay": "1h"})
    waiting = spawn("run", "agent.json", "Go")
    project.until(lambda: retries(folder))
    waiting.send_signal(signal.SIGKILL)
    waiting.communicate(timeout=20)
    write(ALWAYS_BUSY, retry={"max_retries": 2, "base_delay": "1ms"})
    resumed = lousho("resume", "s")
    assert (resumed.code, retries(folder)) == (1, [(1, 2), (2, 2)])
    assert "(retry 2 of 2)" in resumed.err


def test_ds_133_a_signal_ends_the_wait_at_once(lousho: Any, project: Any, spawn: Any, write: Write, folder: Path) -> None:
    write(ALWAYS_BUSY, retry={"base_delay": "1h"})
    waiting = spawn("run", "agent.json", "Go")
    project.until(lambda: retries(folder))
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=20)
    assert (waiting.returncode, "Traceback" in err) == (130, False)
    assert lousho("list", "--json").data[0]["outcome"] == "aborted"


@pytest.mark.parametrize(("keeps", "roles"), [(True, ["assistant", "user", "assistant"]), (False, ["assistant"])])
def test_ds_137_what_a_lost_connection_left_of_an_answer_is_gone_on_with_when_asked(
    lousho: Any, write: Write, keeps: bool, roles: list[str]
) -> None:
    write({"error": {"disconnect": True, "times": 1}, "text": "half an answer"}, retry={"base_delay": "1ms"}, continue_cut_off=keeps)
    ran = lousho("run", "agent.json", "Go")
    assert (ran.code, "going on with the answer in" in ran.err) == (0, keeps)
    assert [message["role"] for message in lousho("show", "s", "--json").data["messages"]][2:] == roles


def test_a_repair_is_said_in_a_line_and_once_in_the_envelope(project: Any) -> None:
    project.write(["a"], "done", "again")
    assert project.run("Go", "-s", "s").code == 0
    system, asked, calls, _result, done = project.messages("s")
    call = {"id": "call_a", "name": "a", "arguments": "{}"}
    broken = [system, asked, {**calls, "tool_calls": [call]}, done, {"role": "user", "content": "More"}]
    (project.folder / "broken.json").write_text(json.dumps(broken))
    ran = project.lousho("fork", "s", "--from-step", "1", "--messages", "broken.json", "--run", "--json")
    envelope = json.loads(ran.out)
    assert (ran.code, envelope["data"]["text"]) == (0, "again")
    (warning,) = [line for line in envelope["warnings"] if "repaired" in line]
    assert "call call_a of a had no result" in warning
    assert ran.err.count("was repaired before it was sent") == 1
