"""Agents whose process is killed for real, in their tools, and other processes that go on."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen, run

import lousho_cli

_SCRIPT = str(Path(__file__).with_name("agent_process.py"))
_ENV = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}


def started(place: Path) -> list[list[Any]]:
    """The starts of tools so far: name, call id, whether it is run again, and its keys."""
    ran = place / "ran.txt"
    return [json.loads(line) for line in ran.read_text().splitlines()] if ran.exists() else []


def killed(place: Path, *words: str, starts: int = 2) -> None:
    """Runs the agent until so many tools were started, and kills it there."""
    process = Popen([sys.executable, _SCRIPT, str(place), *words], env=_ENV)
    while len(started(place)) < starts:
        assert process.poll() is None, "it ended before it hung"
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()


def went_on(place: Path, *words: str) -> Any:
    """Runs the agent to its end; gives text, finish reason and the results of its tools."""
    ran = run([sys.executable, _SCRIPT, str(place), *words], env=_ENV, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("resume", ["resume", "session-resume"])
def test_de_143_another_process_finishes_what_was_killed_in_its_tool(tmp_path: Path, resume: str) -> None:
    killed(tmp_path, "send")
    assert went_on(tmp_path, resume) == ["done", "stop", ['"found"', '{"charged":10}']]
    first, cut, again = started(tmp_path)
    assert (first[:3], cut[:3], again[:3]) == (["look", "c10-1", False], ["charge", "c10-2", False], ["charge", "c10-2", True])
    assert cut[3:] == again[3:], "the keys are the same in another process"
    assert cut[3:5] == ["s:c10-2:charge", "s:c10-2:charge"]
    assert first[5] == cut[5], "and so is the run"
    assert went_on(tmp_path, resume) is None


@pytest.mark.parametrize("resume", ["resume", "session-resume"])
def test_de_145_a_turn_killed_in_its_tool_is_finished(tmp_path: Path, resume: str) -> None:
    killed(tmp_path, "turn")
    assert went_on(tmp_path, resume) == ["done", "stop", ['"found"', '{"charged":20}']]
    assert [call[:3] for call in started(tmp_path)][2] == ["charge", "c20-2", True]


def test_de_146_an_approved_tool_that_was_killed_runs_again_without_being_asked_for_again(tmp_path: Path) -> None:
    assert went_on(tmp_path, "pause", "large")[1] == "awaiting-approval"
    killed(tmp_path, "approve", "large")
    assert went_on(tmp_path, "resume", "large") == ["done", "stop", ['"found"', '{"charged":200}']]
    assert [call[:3] for call in started(tmp_path)] == [
        ["look", "c200-1", False],
        ["charge", "c200-2", False],
        ["charge", "c200-2", True],
    ]
