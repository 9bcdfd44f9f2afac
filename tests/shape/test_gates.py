"""Lint, format, types and layers, as tests: one command checks everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

GATES = {
    "lint": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy", "lousho_cli"],
}


@pytest.mark.slow  # mypy reads the whole package
@pytest.mark.parametrize("name", ["lint", "format", "types"])
def test_gate_holds(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", *GATES[name]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(GATES[name])}\n{done.stdout}{done.stderr}"


@pytest.mark.slow  # it builds the whole import graph
def test_imports_point_down() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_the_top_level_is_what_it_should_be() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    top = {name.split("/")[0] for name in tracked if not name.startswith(".")}
    assert top == {"pyproject.toml", "lousho_cli", "tests", "completions", "README.md", "CHANGELOG.md"}


def test_modules_and_functions_stay_short() -> None:
    import ast

    too_long = []
    for path in sorted((ROOT / "lousho_cli").rglob("*.py")):
        text = path.read_text()
        if text.count("\n") > 400:
            too_long.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.lineno + 1
                body = lines - _docstring_lines(node)
                if body > 60:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {body} lines")
    assert not too_long


def _docstring_lines(node: object) -> int:
    import ast

    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.end_lineno - first.lineno + 1
    return 0
