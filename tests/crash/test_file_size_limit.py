"""A limit on the size of a file, where the system cuts a write short at any byte it likes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")


def at_limit(folder: Path, limit: int, crash: Any, points: Any, running: Any) -> str | None:
    job = crash.Job(folder)
    ran = job.process("run", "prlimit", f"--fsize={limit}")
    code: str | None = points.code_of(ran)
    running.check(job, ran)
    return code


def test_a_file_that_may_not_grow_further_loses_nothing(tmp_path: Path, crash: Any, points: Any, running: Any, uninterrupted: Any) -> None:
    size = uninterrupted.log().stat().st_size
    limits = [*range(1, size, 211), size + 200]
    codes = points.at_once(lambda limit: at_limit(tmp_path / str(limit), limit, crash, points, running), limits)
    assert codes.count("LOUSHO_STORAGE_FAILED") > 15
    assert codes[-1] is None


@pytest.mark.sweep
def test_a_file_that_may_not_grow_further_at_any_size(tmp_path: Path, crash: Any, points: Any, running: Any, uninterrupted: Any) -> None:
    limits = range(1000, uninterrupted.log().stat().st_size + 200, 7)
    points.at_once(lambda limit: at_limit(tmp_path / str(limit), limit, crash, points, running), limits)
