"""A disk that is full, or fails, under a database: an error with a code, nothing acknowledged lost, a resume once it works again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAULTS = [
    ("pwrite64", "error=ENOSPC", 2),
    ("pwrite64", "error=ENOSPC+", 2),
    ("pwrite64", "error=EIO", 2),
    ("fdatasync", "error=EIO", 2),
    ("fdatasync", "error=EIO+", 2),
    ("fsync", "error=EIO", 1),
    ("ftruncate", "error=EIO+", 0),
    ("unlink", "error=EIO", 0),
    ("flock", "error=ENOLCK", 1),
    ("pread64", "error=EIO", 1),
]
"""What fails, how (for good with a plus), and how many of its points must reach the caller at least."""


@pytest.fixture(scope="session")
def in_database(tmp_path_factory: pytest.TempPathFactory, points: Any, expected: list[Any]) -> Any:
    return points.Sweep(tmp_path_factory.mktemp("failing-database"), "run", expected, database=True)


@pytest.mark.parametrize(("call", "fault", "least"), FAULTS)
def test_a_call_that_fails_is_an_error_with_a_code_and_loses_nothing(
    in_database: Any, points: Any, call: str, fault: str, least: int
) -> None:
    numbers = in_database.numbers(call)
    codes = points.at_once(lambda number: in_database.failing(call, number, fault), numbers[:: 1 if len(numbers) < 12 else 5])
    assert codes
    assert set(codes) <= {None, "LOUSHO_STORAGE_FAILED", "LOUSHO_LOG_DAMAGED"}
    assert len(codes) - codes.count(None) >= least, codes


ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size={size}k tmpfs {folder}
mkdir {folder}/job
dd if=/dev/zero of={folder}/ballast bs=1k count={ballast} 2>/dev/null
set +e
{victim} run {folder}/job/lousho.db {effects}
code=$?
cp {folder}/job/* {kept}/ 2>/dev/null
rm {folder}/ballast
exit $code
"""


def test_a_disk_that_gets_full_loses_nothing(tmp_path: Path, crash: Any, points: Any, in_database: Any) -> None:
    """On a file system with a few pages left."""
    (tmp_path / "disk").mkdir()
    probe = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=64k tmpfs {tmp_path / 'disk'}"]
    if shutil.which("unshare") is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("may not mount a file system of its own")
    left = range(4, 164, 20)
    codes = points.at_once(lambda pages: on_small_disk(tmp_path / f"pages-{pages}", pages, crash, points, in_database), left)
    assert "LOUSHO_STORAGE_FAILED" in codes
    assert None in codes


def on_small_disk(folder: Path, pages: int, crash: Any, points: Any, sweep: Any) -> str | None:
    size = 1024
    job = crash.Job(folder / "kept", database=True)
    (folder / "disk").mkdir()
    script = ON_A_SMALL_DISK.format(
        size=size,
        folder=folder / "disk",
        ballast=size - 4 * pages,
        victim=f"{sys.executable} {crash.VICTIM}",
        effects=job.effects,
        kept=job.folder,
    )
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=crash.environment(), capture_output=True, text=True, check=False)
    ran = crash.ran_of(done)
    code: str | None = points.code_of(ran)
    sweep.check(job, ran)
    return code
