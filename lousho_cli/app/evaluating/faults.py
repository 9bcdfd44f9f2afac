"""What a case did wrong itself, told with the line it happened in and never as a traceback."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path
from typing import Any

from lousho_cli.errors import SDKError
from lousho_cli.evals.eval_results import Assertion

_LONGEST = 500


def error_of(error: BaseException, path: Path) -> dict[str, Any]:
    """Why a case could not be run to its end: ``error``, and ``hint`` where there is one."""
    if isinstance(error, SDKError):
        return {"error": f"{error.detail} [{error.code}]", "hint": error.hint}
    said = " ".join(str(error).split())[:_LONGEST]
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    line = _line(error, path)
    return {"error": f"{path.name} line {line}: {told}" if line else told}


def skipped_by(error: BaseException) -> str | None:
    """Why a case says that it is not to be run, with pytest's own word for it; None where it says nothing of the kind."""
    import pytest

    return str(error) if isinstance(error, (pytest.skip.Exception, pytest.xfail.Exception)) else None


def is_a_miss(error: BaseException) -> bool:
    """Whether an error says that something did not hold: a plain ``assert``, or ``pytest.fail``."""
    import pytest

    return isinstance(error, (AssertionError, pytest.fail.Exception))


def assertion_of(error: BaseException, path: Path) -> Assertion:
    """What did not hold in a case, as a gate; see ``is_a_miss``."""
    line = _line(error, path)
    written = linecache.getline(str(path), line).strip() if line else ""
    said = " ".join(str(error).split())[:_LONGEST]
    return Assertion(
        name=written or "assert", passed=False, score=0, detail=": ".join(filter(None, (f"line {line}" if line else "", said)))
    )


def _line(error: BaseException, path: Path) -> int:
    """The last line of the case's own file on the way to an error, 0 where it is not on it."""
    return next((frame.lineno or 0 for frame in reversed(traceback.extract_tb(error.__traceback__)) if frame.filename == str(path)), 0)
