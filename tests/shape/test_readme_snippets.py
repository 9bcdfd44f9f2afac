"""Every ``python`` snippet of the README runs, in order, in an empty folder, and prints what it says behind ``#>``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_RUN = """
import ast, asyncio, contextlib, inspect, io, json, sys

async def run(snippets):
    scope = {"__name__": "readme"}
    for line, text in snippets:
        tree = ast.increment_lineno(ast.parse(text), line - 1)
        code = compile(tree, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            waits = eval(code, scope)
            if inspect.iscoroutine(waits):
                await waits
        promised = [said[3:] for said in text.splitlines() if said.startswith("#> ")]
        assert printed.getvalue().splitlines() == promised, f"README.md:{line} printed {printed.getvalue()!r}"

asyncio.run(run(json.load(sys.stdin)))
"""


def snippets() -> list[tuple[int, str]]:
    """The line each begins at, and its text."""
    readme = (ROOT / "README.md").read_text()
    return [(readme[: found.start(1)].count("\n") + 1, found[1]) for found in re.finditer(r"^```python\n(.*?)^```$", readme, re.M | re.S)]


def test_the_snippets_of_the_readme_run_and_print_what_they_say(tmp_path: Path) -> None:

    found = snippets()
    assert len(found) >= 6
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LOUSHO_", "OPENAI_", "ANTHROPIC_"))}
    env |= {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-W", "error", "-c", _RUN]
    ran = subprocess.run(command, input=json.dumps(found), cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {".lousho"}, "they leave nothing but their store"


def test_the_readme_shows_python_in_fences_only_so_that_all_of_it_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    outside = re.sub(r"^```python\n.*?^```$", "", readme, flags=re.M | re.S)
    assert not re.findall(r"^ {4}(?:from|import) .*$", outside, re.M)
