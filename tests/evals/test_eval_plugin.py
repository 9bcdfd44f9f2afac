"""Evals under pytest itself: found beside other tests, selected, spread over processes, and no burden where there are none."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


class Pytest:
    """``pytest`` in a process of its own, in which our plugin is found as an installed one, and only those that are named beside it."""

    def __init__(self, evals: Any) -> None:
        self._folder = evals.folder
        self._site = evals.folder.parent / "site"
        entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
        info = self._site / "lousho_evals_of_the_tests-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lousho-evals-of-the-tests\nVersion: 0\n")
        (info / "entry_points.txt").write_text("[pytest11]\n" + "".join(f"{name} = {home}\n" for name, home in entry.items()))

    def __call__(self, *args: str, code: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        words = ["-c", code, *args] if code else ["-m", "pytest", "-p", "lousho", "-p", "no:cacheprovider", "-q", *args]
        given = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")}
        given |= {"PYTHONPATH": f"{self._site}{os.pathsep}{ROOT}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environ
        return subprocess.run(
            [sys.executable, *words], cwd=self._folder, env=given, capture_output=True, text=True, timeout=120, check=False
        )


@pytest.fixture
def run_pytest(evals: Any) -> Pytest:
    return Pytest(evals)


def test_pytest_finds_both_kinds_selects_them_and_spreads_them(evals: Any, run_pytest: Pytest) -> None:
    evals.agent()
    evals.eval(
        {"name": "sunny", "tags": ["quick"], "soft": {"max_tokens": 1}},
        {"name": "wet", "expect": {"called_tool": "umbrella"}},
    )
    evals.write(
        "talk_eval.py",
        "from lousho_cli import define_eval\na, b = define_eval('a', agent='agent.yaml'), define_eval('b', agent='agent.yaml')\n"
        "@a.case\n@b.case\nasync def greets(t):\n    await t.send('go')\n    t.completed()\n"
        "@a.case\nasync def later(t):\n    import pytest\n    pytest.skip('not today')\n",
    )
    evals.write("test_plain.py", "def test_plain(): pass\n")
    names = {
        "trip.eval.yaml::sunny",
        "trip.eval.yaml::wet",
        "talk_eval.py::a::greets",
        "talk_eval.py::b::greets",
        "test_plain.py::test_plain",
    }
    ran = run_pytest("-p", "xdist.plugin", "-n", "2", "-vv")
    assert not [name for name in names if name not in ran.stdout]
    assert ran.returncode == 1
    assert "4 passed" in ran.stdout
    assert "1 failed" in ran.stdout
    assert "1 skipped" in ran.stdout
    assert "called_tool umbrella: umbrella was not called; called: weather" in ran.stdout
    assert "reply: Sunny." in ran.stdout
    assert "evaluating/" not in ran.stdout, "a failure is no traceback of our code"
    assert "soft misses of evals" in ran.stdout
    assert "trip.eval.yaml::sunny: max_tokens 1: " in ran.stdout
    one = run_pytest("-k", "quick", "-v", "trip.eval.yaml", "talk_eval.py")
    assert "1 passed, 4 deselected" in one.stdout


def test_a_broken_file_is_told_without_a_traceback_and_a_missing_cassette_names_the_command(evals: Any, run_pytest: Pytest) -> None:
    evals.write("bad.eval.yaml", "agent: agent.yaml\ncasse: []\n")
    evals.write("live.yaml", '{"name": "a", "prompt": "b", "provider": {"type": "openai", "model": "m"}}')
    evals.eval(agent="live.yaml")
    ran = run_pytest("--continue-on-collection-errors", CI="1")
    assert ran.returncode == 1
    assert "bad.eval.yaml is not a valid eval file: line 2, casse: did you mean cases?" in ran.stdout
    assert "Traceback" not in ran.stdout
    where = "__cassettes__/trip/case-1.json"
    assert f"cassette: there is none at {where}. Record it: lousho eval --record 'trip.eval.yaml::case 1'" in ran.stdout


def test_without_evals_the_plugin_loads_nothing_more(evals: Any, run_pytest: Pytest) -> None:
    evals.write("test_plain.py", "def test_plain(): pass\n")
    code = (
        "import sys, pytest; pytest.main(['-q', '-p', 'lousho', '-p', 'no:cacheprovider']); "
        "print(sorted(m for m in sys.modules if m.startswith('lousho') or m in ('asyncio', 'yaml', 'msgspec', 'pydantic')))"
    )
    ran = run_pytest(code=code)
    assert "1 passed" in ran.stdout, ran.stderr
    loaded = ran.stdout.splitlines()[-1]
    package = "lousho_cli.app.evaluating"
    assert loaded == str(["lousho_cli", "lousho_cli.app", package, f"{package}.closing", f"{package}.plugin"])
