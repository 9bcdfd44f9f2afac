"""The server's disk is full: an error that says so, nothing acknowledged is lost, and it goes on once there is room."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import lousho_cli


def test_a_server_whose_disk_is_full_loses_nothing() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lousho-disk-"))
    try:
        folder.chmod(0o755)
        mount = f"mount -t tmpfs -o size=120m,mode=1777 tmpfs {folder}"
        alone = ["unshare", "-m"]  # what is mounted goes with the process
        if shutil.which("unshare") is None or subprocess.run([*alone, "sh", "-c", mount], check=False, capture_output=True).returncode:
            pytest.skip("may not mount a file system of its own")
        script = Path(__file__).with_name("full_disk_process.py")
        paths = (Path(lousho_cli.__file__).parents[1], Path(__file__).parents[2] / "shared")
        environ = os.environ | {"TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(map(str, paths))}
        ran = subprocess.run(
            [*alone, "sh", "-c", f'{mount} && exec "$@"', "sh", sys.executable, str(script)],
            capture_output=True,
            text=True,
            timeout=120,
            env=environ,
        )
    finally:
        folder.rmdir()
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert "no room on the server's disk" in said.pop("table")
    assert "what was saved is still there" in said.pop("log")
    assert said == {"kept": True, "kept behind a crash": True, "goes on": True}
