"""A disk that is full, or fails: an error with a code, nothing acknowledged lost, and a resume once it works again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAULTS = [
    ("write", "error=ENOSPC", 5),
    ("write", "error=ENOSPC+", 5),
    ("write", "error=EIO", 5),
    ("write", "retval=7", 5),  # a write that was cut short
    ("fdatasync", "error=EIO", 3),
    ("fdatasync", "error=EIO+", 3),
    ("fsync", "error=EIO", 3),
    ("fsync", "error=EIO+", 3),
    ("link", "error=ENOSPC+", 2),
    ("unlink", "error=EIO", 1),  # a post that the log has is taken away at the next look
    ("mkdir", "error=ENOSPC+", 3),
    ("flock", "error=ENOLCK", 2),
    ("pread64", "error=EIO", 2),
    ("pwrite64", "error=ENOSPC+", 0),  # that a claim was given back: a free lock says so too
    ("rename", "error=ENOSPC+", 0),  # a head, which is a cache
]
"""What fails, how (for good with a plus), and how many of its points must reach the caller at least."""


@pytest.mark.parametrize(("call", "fault", "least"), FAULTS)
def test_a_call_that_fails_is_an_error_with_a_code_and_loses_nothing(running: Any, points: Any, call: str, fault: str, least: int) -> None:
    codes = points.at_once(lambda number: running.failing(call, number, fault), running.numbers(call))
    assert codes
    assert set(codes) <= {None, "LOUSHO_STORAGE_FAILED"}
    assert len(codes) - codes.count(None) >= least, codes


ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size={size}k tmpfs {folder}
mkdir {folder}/job
dd if=/dev/zero of={folder}/ballast bs=1k count={ballast} 2>/dev/null
set +e
{victim} run {folder}/job/.lousho {effects}
code=$?
cp -r {folder}/job/.lousho {kept}/.lousho 2>/dev/null
rm {folder}/ballast
exit $code
"""


def test_a_disk_that_gets_full_loses_nothing(tmp_path: Path, crash: Any, points: Any, running: Any) -> None:
    """On a file system with a few pages left, where a write may also be cut short by the system itself."""
    (tmp_path / "disk").mkdir()
    probe = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=64k tmpfs {tmp_path / 'disk'}"]
    if shutil.which("unshare") is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("may not mount a file system of its own")
    codes = points.at_once(lambda pages: on_small_disk(tmp_path / f"pages-{pages}", pages, crash, points, running), range(16))
    assert "LOUSHO_STORAGE_FAILED" in codes
    assert None in codes


def on_small_disk(folder: Path, pages: int, crash: Any, points: Any, running: Any) -> str | None:
    size = 256
    job = crash.Job(folder / "kept")
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
    running.check(job, ran)
    return code
