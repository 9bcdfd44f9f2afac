"""Start-up is felt: what each way in loads, seen from a clean interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lousho_cli.__main__ import main

ROOT = Path(__file__).parents[2]

_RUN = """
import json, sys
from lousho_cli.__main__ import main
code = max(main(line.split()) for line in sys.argv[1:])
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""

HEAVY = {"asyncio", "pydantic", "httpx", "textual", "psycopg", "yaml", "jsonschema", "ssl", "http"}


def _loaded(folder: Path, *lines: str, environ: dict[str, str] | None = None) -> set[str]:
    """The modules that are there after these command lines, one after the other in one process."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LOUSHO_", "COV"))}
    env |= {"HOME": str(folder), "PYTHONPATH": str(ROOT)} | (environ or {})
    ran = subprocess.run([sys.executable, "-c", _RUN, *lines], cwd=folder, env=env, capture_output=True, text=True, timeout=30, check=True)
    code, modules = json.loads(ran.stderr.rsplit("\n", 1)[1])
    assert code == 0
    return set(modules)


def test_version_loads_nothing(tmp_path: Path) -> None:
    modules = _loaded(tmp_path, "--version")
    assert {name for name in modules if name.startswith("lousho_cli")} == {"lousho_cli", "lousho_cli.__main__"}
    assert not modules & (HEAVY | {"typer", "rich", "msgspec"})


def test_help_loads_typer_and_rich_only(tmp_path: Path) -> None:
    modules = _loaded(tmp_path, "--help")
    assert {"typer", "rich"} <= modules
    assert not modules & (HEAVY | {"msgspec", "tomllib", "platformdirs"})
    assert not {name for name in modules if name.startswith(("lousho_cli.domain", "lousho_cli.core", "lousho_cli.stores"))}


@pytest.mark.parametrize("line", ["list", "list --json"])
def test_list_loads_neither_asyncio_nor_pydantic_nor_httpx(tmp_path: Path, line: str) -> None:
    (tmp_path / ".lousho" / "sessions").mkdir(parents=True)
    assert not _loaded(tmp_path, line) & HEAVY


def test_what_looks_at_one_session_or_stops_it_loads_nothing_that_runs_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["run", "trip"]) == 0
    assert not _loaded(tmp_path, "inputs trip", "trim trip --dry-run") & HEAVY
    modules = _loaded(tmp_path, "abort trip")
    assert not modules & (HEAVY - {"asyncio", "ssl"})
    assert not {name for name in modules if name.startswith(("lousho_cli.host", "lousho_cli.providers"))}


def test_completion_loads_no_more(tmp_path: Path) -> None:
    (tmp_path / ".lousho" / "sessions").mkdir(parents=True)
    environ = {"_LOUSHO_COMPLETE": "complete_bash", "COMP_WORDS": "lousho show ", "COMP_CWORD": "2"}
    assert not _loaded(tmp_path, "", environ=environ) & HEAVY


def test_importing_the_package_costs_nothing(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import lousho_cli; print(len(set(sys.modules) - before))"
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) <= 2


def test_a_run_without_servers_loads_nothing_of_the_protocol_for_them(tmp_path: Path) -> None:
    modules = _loaded(tmp_path, "run trip")
    assert "lousho_cli.tools.mcp.spec" in modules
    assert not {name for name in modules if name.partition(".")[0] in {"mcp", "mcp_types", "httpx2", "anyio"}}
    assert not modules & {"lousho_cli.tools.mcp.opening", "lousho_cli.tools.mcp.connection"}
