"""Makes the pictures of the README: runs the demos in an empty folder and lets ``lousho tui`` draw what is there then.

``python .pictures/make.py``. Ages aside, they come out the same each time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent


def lousho(folder: str, *words: str) -> None:
    """One command; a demo that waits for a person is meant to."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LOUSHO_")} | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-m", "lousho_cli", *words], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if ran.returncode not in {0, 4}:
        raise SystemExit(ran.stderr)


def main() -> None:
    """Writes ``sessions.svg`` and ``narrow.svg``."""
    with tempfile.TemporaryDirectory() as folder:
        lousho(folder, "run", "trip")
        lousho(folder, "run", "booking")
        lousho(folder, "fork", "trip", "--from-step", "1", "--tool-result", 'call_weather={"forecast":"rain"}', "--run")
        lousho(folder, "tui", "trip", "--screenshot", str(HERE / "sessions.svg"), "--size", "150x34")
        lousho(folder, "tui", "--screenshot", str(HERE / "narrow.svg"), "--size", "80x14")


if __name__ == "__main__":
    main()
