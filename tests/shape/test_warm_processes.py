"""A process that is forked from a warm parent is to its test what a cold one is: the same words, codes, streams and signals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="all processes are cold ones elsewhere")
ROOT = Path(__file__).parents[2]
SAYS = """
import atexit, os, resource, signal, sys, threading, time
atexit.register(print, "at exit")
said = threading.Event()  # the thread's line comes behind all others, however slow they are
threading.Thread(target=lambda: (said.wait(), time.sleep(0.01), print("from a thread"))).start()
streams = [(s.name, s.mode, s.encoding, s.errors) for s in (sys.stdin, sys.stdout, sys.stderr)]
streams += [(s.line_buffering, s.write_through, s.isatty()) for s in (sys.stdin, sys.stdout, sys.stderr)]
main = sys.modules["__main__"]
print(sys.argv, sys.path[:2], __name__, main.__dict__ is globals(), os.getcwd(), sorted(os.environ.items()), streams)
print({number: signal.getsignal(number) for number in (1, 2, 13, 15, 25)}, os.getpgrp() == os.getpid(), os.umask(0), time.tzname)
print(sorted(os.listdir("/proc/self/fd")), resource.getrlimit(resource.RLIMIT_FSIZE), sys.flags, sys.stdin.read())
said.set()
"""
ENDS = ["", "raise SystemExit(7)", "raise SystemExit('no')", "1 / 0", "raise KeyboardInterrupt", "import os; os.kill(os.getpid(), 9)"]
ENDS_BADLY = "import os, sys; sys.stdout.write('x'); os.close(1)"


def both(folder: Path, *words: Any, **options: Any) -> list[subprocess.CompletedProcess[Any]]:
    environ = os.environ | {"PYTHONPATH": str(ROOT), "TZ": "Asia/Tokyo"}
    command = [sys.executable, *words]
    return [run(command, cwd=folder, env=environ, capture_output=True, timeout=60, cold=cold, **options) for cold in (True, False)]


@pytest.mark.parametrize("options", [{}, {"start_new_session": True}])
def test_it_finds_the_same_world(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "says.py").write_text(SAYS)
    for words in (["-c", SAYS], [str(tmp_path / "says.py")]):
        cold, warm = both(tmp_path, *words, "one", b"tw\xffo", input=b"asked", **options)
        assert b"from a thread\nat exit\n" in cold.stdout
        assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_it_ends_the_same(tmp_path: Path) -> None:
    code = "import sys, time; exec(sys.argv[1])"
    for end in [*ENDS, ENDS_BADLY]:
        cold, warm = both(tmp_path, "-c", code, end)
        # What stands above the last line differs: in newer Pythons only the cold one has lines to quote.
        said = [process.stderr.splitlines()[-1:] for process in (warm, cold)]
        assert (warm.returncode, warm.stdout, said[0]) == (cold.returncode, cold.stdout, said[1]), end


def test_a_command_says_the_same(tmp_path: Path) -> None:
    for words in (["list", "--json"], ["list", "--bad"], ["show", "--help"], ["show", "nothing"]):
        cold, warm = both(tmp_path, "-m", "lousho_cli", *words)
        assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_it_is_a_child_that_can_be_killed_and_leaves_nothing() -> None:
    with Popen(
        [sys.executable, "-c", "import os, time; print(os.getppid(), os.getpid(), flush=True); time.sleep(60)"], stdout=-1
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split() == [b"%d" % os.getpid(), b"%d" % process.pid]
        assert process.poll() is None
        process.kill()
    assert process.returncode == -9
    assert not Path(f"/proc/{process.pid}").exists()
