"""Processes of Python that start in milliseconds: ``Popen`` and ``run`` as in ``subprocess``, for tests that start many.

A cold start of the package costs nearly half a second, of which nearly all is imports. Here each is forked from a parent that has
imported it, one for each pytest process. What comes of it is a real process: a child of the test's own, with its own pid, which is
waited for, stopped, traced and killed as any other, with its own streams, environment and folder; see ``warm_parent``.

What these words start is warm; anything else, and all of it on a system other than Linux, is started cold, as ``subprocess`` does:

    [sys.executable, "-m", "lousho_cli", ...]    [sys.executable, "script.py", ...]    [sys.executable, "-c", CODE, ...]
    ["strace", ..., *one of these]               ["prlimit", "--fsize=N", *one of these]

``cold=True`` always starts cold: for what a start itself shows.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warm_parent import LIMIT

PARENT = Path(__file__).with_name("warm_parent.py")
PR_SET_CHILD_SUBREAPER = 36
AT_START = re.compile("PYTHON|LC_|LANG|LD_|MALLOC_|TYPER_")
"""Variables that an interpreter, or a library at its import, reads: there is one warm parent for each of their values."""


class _Parent:
    """One warm parent, and the socket that it is asked over."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(PARENT), str(theirs.fileno())]
        path = os.pathsep.join(filter(None, (environ.get("PYTHONPATH"), str(PARENT.parents[2]))))
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, env={**environ, "PYTHONPATH": path}, pass_fds=[theirs.fileno()], cwd=PARENT.parent
        )
        theirs.close()
        atexit.register(self._end)

    def _end(self) -> None:
        self._ours.close()
        self._process.wait()

    def start(self, request: bytes, descriptors: list[int]) -> int:
        """Has a process forked, and gives its pid. It is a child of this process."""
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._ours, [request], descriptors)
            pid = int(self._ours.recv(100) or b"0")
            self._ours.recv(100)
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert pid, "the warm parent is gone"
        return pid


_parents: dict[frozenset[tuple[str, str]], _Parent] = {}
_one_at_a_time = threading.Lock()


class Popen(subprocess.Popen[Any]):
    """As that of ``subprocess``. What strace is asked for it does to the process from its first line on; ``pid`` is the process's own."""

    _tracer: subprocess.Popen[bytes] | None = None

    def __init__(self, args: Any, *more: Any, cold: bool = False, **options: Any) -> None:
        self._cold = cold or sys.platform != "linux"
        super().__init__(args, *more, **options)

    def _execute_child(self, args: Any, *given: Any) -> None:  # type: ignore[override]
        executable, preexec, _, pass_fds, cwd, env, _, _, shell, stdin, ours_in, ours_out, stdout, ours_err, stderr, *further = given
        new_session = further[5]
        plain = executable is preexec is None and not (pass_fds or shell) and further == [True, None, None, None, -1, new_session, -1]
        before, words = _split(args)
        environ = dict(os.environ if env is None else env)
        asked = {"words": words, "cwd": os.fsdecode(cwd or os.getcwd()), "environ": environ, "held": bool(before)}
        request = json.dumps(asked | {"own_session": new_session}).encode()
        if self._cold or not plain or not words or len(request) > LIMIT:
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        streams = [own if theirs == -1 else theirs for own, theirs in enumerate((stdin, stdout, stderr))]
        with _one_at_a_time:
            self.pid = _parent(environ).start(request, streams)
        self._child_created = True
        self._close_pipe_fds(stdin, ours_in, ours_out, stdout, ours_err, stderr)  # type: ignore[attr-defined]
        if before:
            self._prepare(before)
            os.kill(self.pid, signal.SIGCONT)

    def _prepare(self, before: list[str]) -> None:
        """Does to the process, which has stopped itself, what the words before its own say."""
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)
        if before[0] == "prlimit":
            size = int(before[1].removeprefix("--fsize="))
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, size))
            return
        self._tracer = subprocess.Popen([*before, "-p", str(self.pid)], stdin=subprocess.DEVNULL)
        status = Path(f"/proc/{self.pid}/status")
        while "\nTracerPid:\t0\n" in status.read_text():  # from then on it does nothing that is not seen
            assert self._tracer.poll() is None, "strace can not attach to it"
            time.sleep(0.001)

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        if self._tracer is not None:
            self._tracer.wait(timeout)
        return code


def _parent(environ: Mapping[str, str]) -> _Parent:
    key = frozenset((name, value) for name, value in environ.items() if AT_START.match(name))
    if key not in _parents:
        _parents[key] = _Parent(environ)
    return _parents[key]


def _split(args: Any) -> tuple[list[str], list[str]]:
    """What is done to the process, and the words behind the interpreter; no words where it is not for us."""
    if not isinstance(args, (list, tuple)) or sys.executable not in args:
        return [], []
    at = args.index(sys.executable)
    before, words = [str(word) for word in args[:at]], [os.fsdecode(word) for word in args[at + 1 :]]  # a word may be no text
    known = not before or before[0] == "strace" or (before[0] == "prlimit" and len(before) == 2 and before[1].startswith("--fsize="))
    ours = words and (words[0].endswith(".py") or words[0] == "-c" or words[:2] == ["-m", "lousho_cli"])
    return (before, words) if known and ours else ([], [])


def run(
    args: Any, *, input: Any = None, capture_output: bool = False, timeout: float | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """As that of ``subprocess``."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, args, out, err)
    return subprocess.CompletedProcess(args, process.returncode, out, err)
