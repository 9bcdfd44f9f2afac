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


ACTING = """
import asyncio, sys
from pathlib import Path
from lousho_cli.tui.picture import svg_of
from lousho_cli.tui.program import Lousho
from lousho_cli.tui.reading import Reader
from lousho_cli.tui.widgets.json_editor import JsonEditor

app = Lousho(Reader(), "booking", follow=False)
app.theme = "dark"

async def person(pilot):
    async def rest():
        for _ in range(4):
            await app.workers.wait_for_complete()
            await pilot.pause()

    await rest()
    await pilot.press("a")
    await rest()
    editor = app.screen.query_one(JsonEditor)
    editor.text = editor.text.replace("2,", "3,")
    await rest()
    Path(sys.argv[1]).write_text(svg_of(app))
    app.exit()

asyncio.run(app.run_async(headless=True, size=(110, 24), auto_pilot=person))
"""
"""Edits the arguments of what waits."""


def main() -> None:
    """Writes ``sessions.svg``, ``narrow.svg`` and ``acting.svg``."""
    with tempfile.TemporaryDirectory() as folder:
        lousho(folder, "run", "trip")
        lousho(folder, "run", "booking")
        lousho(folder, "fork", "trip", "--from-step", "1", "--tool-result", 'call_weather={"forecast":"rain"}', "--run")
        lousho(folder, "tui", "trip", "--screenshot", str(HERE / "sessions.svg"), "--size", "150x34")
        lousho(folder, "tui", "--screenshot", str(HERE / "narrow.svg"), "--size", "80x14")
        subprocess.run(
            [sys.executable, "-c", ACTING, str(HERE / "acting.svg")], cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True
        )


if __name__ == "__main__":
    main()
