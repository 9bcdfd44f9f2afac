"""follow: the log so far, then as it grows, until the run has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def test_json_lines_have_a_cursor_that_since_takes(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    lines = [json.loads(line) for line in lousho("follow", "trip", "--json").out.splitlines()]
    cursors = [(line["cursor"]["seq"], line["cursor"]["index"]) for line in lines]
    assert cursors == sorted(cursors)
    assert len(set(cursors)) == len(lines)
    assert lines[-1]["type"] == "lousho.input_settled"
    rest = [json.loads(line) for line in lousho("follow", "trip", "--json", "--since", "4").out.splitlines()]
    assert rest == [line for line in lines if line["cursor"]["seq"] > 4]


def test_text_in_a_pipe_keeps_what_was_said_to_itself_unless_asked(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    assert "Sunny" not in lousho("follow", "trip").out
    assert "weather" in lousho("follow", "trip").out
    assert "Sunny" in lousho("follow", "trip", "--content").out


def test_an_unknown_session_is_3(lousho: Any) -> None:
    assert lousho("follow", "nope").code == 3


def test_it_goes_on_until_the_run_has_ended(store: Any, trip: Any, folder: Path) -> None:
    batches = trip()
    store("trip", batches[:2])
    command = [sys.executable, "-m", "lousho_cli", "follow", "trip", "--json"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        first = [json.loads(follower.stdout.readline()) for _ in range(7)]
        assert first[-1]["type"] == "lousho.mark"
        assert follower.poll() is None
        store("trip", batches[2:])
        rest = [json.loads(line) for line in follower.stdout]
        assert follower.wait(timeout=10) == 0
    assert rest[-1]["type"] == "lousho.input_settled"
