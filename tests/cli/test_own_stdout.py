"""Stdout is one JSON document, whatever the code of an agent prints meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

TOOLS = '''
import os, subprocess, sys, threading
print("said while it was loaded")

def loud() -> str:
    """Prints in every way there is."""
    sys.stdout.write("said by a tool\\n")
    os.write(1, b"said by a descriptor\\n")
    sys.__stdout__.write("said by the first stdout\\n")
    subprocess.run(["echo", "said by a program"], check=True)
    thread = threading.Thread(target=print, args=("said by a thread",))
    thread.start()
    thread.join()
    return "done"

async def later() -> str:
    """Prints on the loop, in one piece: ``print`` writes a line and its end apart, and the other tool prints meanwhile."""
    sys.stdout.write("said on the loop\\n")
    return "done"
'''

SAID = [
    "while it was loaded",
    "by a tool",
    "by a descriptor",
    "by the first stdout",
    "by a program",
    "by a thread",
    "on the loop",
]


@pytest.fixture
def loud(folder: Path) -> Path:
    (folder / "tools.py").write_text(TOOLS)
    calls = [{"name": "loud", "id": "call_1"}, {"name": "later", "id": "call_2"}]
    agent = {
        "name": "loud",
        "prompt": "p",
        "provider": {"type": "scripted", "turns": [{"tool_calls": calls}, "the answer"]},
        "tools": [{"python": "tools.py:loud"}, {"python": "tools.py:later"}],
    }
    (folder / "agent.json").write_text(json.dumps(agent))
    return folder


def test_what_tools_print_goes_to_stderr(loud: Path, process: Any) -> None:
    ran = process("run", "agent.json", "Go", "-s", "s", "--json")
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["data"]["text"] == "the answer"
    for words in SAID:
        assert ran.stderr.count(f"said {words}\n".encode()) == 1
    plain = process("run", "agent.json", "Go", "-s", "t")
    assert plain.stdout == b"the answer\n"


def test_each_line_of_a_stream_is_json(loud: Path, process: Any) -> None:
    ran = process("run", "agent.json", "Go", "-s", "s", "--output", "ndjson")
    assert [json.loads(line) for line in ran.stdout.splitlines()][-1]["data"]["outcome"] == "completed"


def test_an_agent_that_is_only_looked_at_prints_no_data(loud: Path, process: Any) -> None:
    process("run", "agent.json", "Go", "-s", "s")
    for args in (("resume", "s", "--check"), ("resume", "s"), ("fork", "s", "--from-step", "1", "--run")):
        ran = process(*args, "--json")
        assert ran.returncode == 0
        assert json.loads(ran.stdout)["command"] == args[0]


def test_one_process_can_do_it_again(loud: Path, lousho: Any) -> None:
    for session in ("s", "t"):
        assert lousho("run", "agent.json", "Go", "-s", session, "--json").data["text"] == "the answer"
    assert lousho("list").out.startswith("ID")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_stops_nothing(loud: Path, lousho: Any, closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" -m lousho_cli run agent.json Go -s s {closed}', sys.executable]
    assert subprocess.run(command, cwd=loud, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, timeout=30).returncode == 0
    assert lousho("show", "s", "--json").data["status"] == "finished"
