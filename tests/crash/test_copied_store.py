"""A store is a folder: copied, moved or packed, it goes on elsewhere, and what it was copied from stays as it was."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def copied(here: Path, there: Path) -> None:
    shutil.copytree(here, there)


def moved(here: Path, there: Path) -> None:
    shutil.copytree(here, here.with_name("about-to-move"))
    shutil.move(here.with_name("about-to-move"), there)


def packed(here: Path, there: Path) -> None:
    archive = there.with_suffix(".tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(here, arcname=there.name)
    with tarfile.open(archive) as tar:
        tar.extractall(there.parent, filter="data")


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("state", ["killed_in_batch", "killed_waiting", "killed_approved", "uninterrupted"])
@pytest.mark.parametrize("way", [copied, moved, packed])
def test_a_store_goes_on_where_it_was_brought_to(
    tmp_path: Path, request: pytest.FixtureRequest, state: str, way: Callable[[Path, Path], None], crash: Any, expected: list[Any]
) -> None:
    source = request.getfixturevalue(state)
    shutil.copytree(source.folder, tmp_path / "source")
    before = content(tmp_path / "source")
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    way(tmp_path / "source" / ".lousho", tmp_path / "elsewhere" / "deep" / ".lousho")
    job = crash.Job(tmp_path / "elsewhere" / "deep")
    shutil.copy(source.effects, job.effects)
    evidence = crash.look(job, ())
    crash.commands_work(job)
    again = job.process("end")
    assert again.code == 0, again
    crash.compare(job, evidence, expected, 2)
    assert content(tmp_path / "source") == before
