"""What a command says of an agent that changed."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest


@pytest.fixture
def cut(project: Any, spawn: Any) -> None:
    """Session ``s``, killed in its tool; the agent has another tool since."""
    project.write(["a"], "done")
    project.hold("a")
    running = spawn("run", "agent.py", "Go", "-s", "s")
    project.until_started("a", 1)
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=20)
    project.let_go("a")
    project.write(["a"], "done", tools=["a", "b", "c", "new"])


def test_de_121_a_command_says_it_in_one_line(project: Any, spawn: Any, cut: None) -> None:
    resumed = spawn("resume", "s")
    _, err = resumed.communicate(timeout=20)
    assert resumed.returncode == 0
    assert [line for line in err.splitlines() if "tools added" in line] == [
        "warning: s: the agent changed since the run was saved: tools added: new"
    ]


def test_de_121_an_envelope_has_it_once_and_events_too(project: Any, spawn: Any, cut: None) -> None:
    resumed = spawn("resume", "s", "--output", "ndjson")
    out, err = resumed.communicate(timeout=20)
    *events, envelope = [json.loads(line) for line in out.splitlines()]
    assert [warning for warning in envelope["warnings"] if "tools added: new" in warning] == envelope["warnings"]
    assert [event["type"] for event in events].count("agent.drift") == 1
    assert err.count("tools added") == 1
