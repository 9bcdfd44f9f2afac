"""Lint, format, types and layers, as tests: one command checks everything."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from parsing import parsed

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
    assert top == {"pyproject.toml", "lousho_cli", "tests", "completions", "docs", "README.md", "CHANGELOG.md"}


def test_modules_and_functions_stay_short() -> None:
    too_long = []
    for path in sorted((ROOT / "lousho_cli").rglob("*.py")):
        text = path.read_text()
        if text.count("\n") > 400:
            too_long.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = (node.end_lineno or 0) - _first_statement(node) + 1
                if body > 60:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {body} lines")
    assert not too_long


def _first_statement(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line a function's work begins at: neither its signature nor its docstring is work."""
    first, *rest = node.body
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return (rest[0] if is_docstring and rest else first).lineno
