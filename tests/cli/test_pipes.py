"""Real pipes and terminals: a reader that leaves ends a command quietly; a terminal gets a table that fits."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command", ["show s --content | head -1", "show s --json | head -c 1", "history s | true", "list --help | head -1"]
)
def test_case_200_a_closed_pipe_ends_quietly(store: Any, trip: Any, folder: Path, command: str) -> None:
    store("s", trip(answer="word " * 200_000))
    environ = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    line = f'"{sys.executable}" -m lousho_cli {command}; exit ${{PIPESTATUS[0]}}'
    ran = subprocess.run(["bash", "-c", line], cwd=folder, env=environ, capture_output=True, timeout=30, check=False)
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stderr
    assert b"Exception ignored" not in ran.stderr


def test_a_closed_stdout_or_stderr_is_no_crash(store: Any, trip: Any, folder: Path) -> None:
    store("s", trip())
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        line = f'"{sys.executable}" -m lousho_cli show s {closed}'
        ran = subprocess.run(["bash", "-c", line], cwd=folder, env=environ, capture_output=True, timeout=30, check=False)
        assert ran.returncode == 0
        assert b"Traceback" not in ran.stderr


def test_a_terminal_gets_a_table_that_fits_in_colour(store: Any, waiting: Any, folder: Path) -> None:
    store("booking", waiting(tool="a" * 100))
    main, side = pty.openpty()
    environ = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "60", "TERM": "xterm"}
    ran = subprocess.run(
        [sys.executable, "-m", "lousho_cli", "list"], cwd=folder, env=environ, stdout=side, stderr=side, stdin=side, timeout=30
    )
    os.close(side)
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert ran.returncode == 0
    assert "\x1b[" in shown
    assert "a" * 100 not in shown
    assert "…" in shown
