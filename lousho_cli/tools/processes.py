"""Which process is meant: its start time tells it from a later one with the same id; and the end of whole groups.

A tool's process leads a session and a group of its own, both with its id. A group outlives its
leader, and the system gives its id to nobody else while it does.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

MARKER = "LOUSHO_TOOL_CALL_ID"
"""The variable by which the processes of a call are known."""

_PROC = Path("/proc")


def start_time(pid: int) -> str:
    """When a process began, as text that equals only its own; "" when there is no such process.

    On Linux it is counted from the boot, whose id is part of it.
    """
    if sys.platform == "linux":
        stat = _stat(pid)
        return f"{stat[19]}@{_boot()}" if stat and stat[0] not in ("Z", "X") else ""
    return _listed_start(pid)


def kill_group(pid: int, number: int = signal.SIGKILL) -> None:
    """Signals every process of the group that ``pid`` leads or led; no error when there is none."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_if_same(pid: int, started: str) -> bool:
    """Kills the group of a process that began at ``started``, if that is still the one with this id.

    On Linux also what is left of its group when the process itself is gone. True when something was killed.
    """
    if pid <= 1 or not started:
        return False
    now = start_time(pid)
    if now == started or (not now and sys.platform == "linux" and _left_behind(pid, started)):
        kill_group(pid)
        return True
    return False


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the state on; [] when there is no such process."""
    try:
        raw = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return raw[raw.rindex(")") + 2 :].split()  # the name before may hold blanks and brackets


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        return ""


def _left_behind(group: int, started: str) -> bool:
    """Whether processes of a call are left in a group whose leader is gone."""
    if started.partition("@")[2] != _boot():
        return False
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        stat = _stat(int(name))
        if stat and stat[2] == stat[3] == str(group) and stat[0] not in ("Z", "X") and _is_marked(int(name)):
            return True
    return False


def _is_marked(pid: int) -> bool:
    try:
        return MARKER.encode() + b"=" in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def _listed_start(pid: int) -> str:
    import subprocess

    try:
        listed = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except OSError:
        return ""
    return listed.stdout.strip()
