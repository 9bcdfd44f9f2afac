"""One table of every error code: it holds each that the package can give, no other, and the page of them says the same.

Run this file to write the page anew: ``python tests/shape/test_error_codes.py``.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from lousho_cli import errors
from lousho_cli.cli import exits
from lousho_cli.error_codes import ERROR_CODES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "errors.md"

VARIABLES = {"LOUSHO_STORE", "LOUSHO_SESSION", "LOUSHO_TOOL_CALL_ID", "LOUSHO_IDEMPOTENCY_KEY", "LOUSHO_TOOL_RERUN"}
"""Of the environment: no codes."""

_CODE = re.compile(r"LOUSHO_[A-Z][A-Z_]*[A-Z]")
_HEAD = """# Errors

Every error has a code. It is stable: branch on it, not on the text. A command prints it in brackets behind what
happened, `--json` has it under `error.code`, and in Python it is `error.code` of an `SDKError`. The same table is in
`lousho_cli.error_codes`.

| code | what it means | what to do | exit |
|---|---|---|---|
"""


def page() -> str:
    """The page as it should be."""
    rows = [
        f"| `{code}` | {row.meaning} | {row.remedy} | {'warns' if row.exit is None else row.exit} |"
        for code, row in sorted(ERROR_CODES.items())
    ]
    return _HEAD + "\n".join(rows) + "\n"


@cache
def _modules() -> tuple[ast.Module, ...]:
    """The modules of the package that name a code, the table aside."""
    from parsing import parsed  # here, because the file is also run by itself

    paths = [path for path in sorted((ROOT / "lousho_cli").rglob("*.py")) if path.name != "error_codes.py"]
    return tuple(parsed(path) for path in paths if "LOUSHO_" in path.read_text("utf-8"))


def _used() -> set[str]:
    """Every code that stands in the package as a value."""
    found = set()
    for tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value):
                found.add(node.value)
    return found - VARIABLES


def _beginnings() -> set[str]:
    """The fixed beginnings of codes that are put together."""
    parts = [node.values[0] for tree in _modules() for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) and node.values]
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    return {text for text in texts if isinstance(text, str) and re.fullmatch(r"LOUSHO_[A-Z_]+_", text)}


def test_every_code_of_the_package_is_in_the_table() -> None:
    assert _used() - ERROR_CODES.keys() == set()


def test_the_table_holds_no_code_that_nobody_gives() -> None:
    beginnings = tuple(_beginnings())
    made = {code for code in ERROR_CODES if code.startswith(beginnings)}
    assert ERROR_CODES.keys() - _used() - made == set()


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text() == page(), "write it anew: python tests/shape/test_error_codes.py"


def test_each_row_says_something_in_a_sentence() -> None:
    for code, row in ERROR_CODES.items():
        assert row.meaning.endswith("."), code
        assert row.remedy.endswith("."), code
        assert row.exit is None or row.exit in set(exits.Exit), code


def _exit_of(kind: type[BaseException]) -> int:
    return next((int(exit) for of, exit in exits._BY_ERROR if issubclass(kind, of)), int(exits.Exit.FAILED))


def test_the_exit_codes_are_those_of_the_errors_that_carry_the_code() -> None:
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.SDKError)}
    told = {kind.default_code: _exit_of(kind) for kind in kinds.values() if "default_code" in vars(kind)}
    for tree in _modules():
        constants = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                for word in node.keywords:
                    value = word.value.value if isinstance(word.value, ast.Constant) else constants.get(getattr(word.value, "id", ""))
                    if word.arg == "code" and value is not None:
                        told.setdefault(value, _exit_of(kinds[node.func.id]))
                        assert told[value] == _exit_of(kinds[node.func.id]), f"{value} has two exit codes"
    wrong = {code: (row.exit, told[code]) for code, row in ERROR_CODES.items() if code in told and row.exit not in (told[code], None)}
    assert wrong == {}, "(in the table, of the error)"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
