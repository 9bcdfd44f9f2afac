"""The installed command on a real terminal: it leaves it as it found it, however it ends."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RESET = [b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?1049l", b"\x1b[?2004l", b"\x1b[?25h"]
"""Mouse off, the other screen left, pasting off, cursor on."""

FAULTY = """
import sys
from lousho_cli.tui.program import Lousho
def fails(self):
    raise ValueError("out of order [red]")
Lousho.action_waiting_room = fails
from lousho_cli.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, *command: str) -> None:
        self.leader, follower = pty.openpty()
        self.before = termios.tcgetattr(follower)
        environ = os.environ | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LINES": "30"}
        self.process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environ, start_new_session=True)
        self.follower = follower
        self.output = b""
        os.set_blocking(self.leader, False)

    def until(self, fact: Callable[[], bool]) -> None:
        end = time.monotonic() + 90
        while not fact():
            assert time.monotonic() < end, self.output[-3000:]
            try:
                self.output += os.read(self.leader, 65536)
            except (BlockingIOError, OSError):
                time.sleep(0.01)

    def left(self) -> bool:
        return self.process.poll() is not None

    def close(self) -> None:
        if not self.left():
            self.process.kill()
        self.process.wait()
        os.close(self.leader)
        os.close(self.follower)


@pytest.fixture
def screen() -> Iterator[Callable[..., Screen]]:
    opened: list[Screen] = []

    def begin(*command: str) -> Screen:
        opened.append(Screen(*command))
        return opened[-1]

    yield begin
    for one in opened:
        one.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"])
def test_case_214_a_signal_gives_the_terminal_back(screen: Callable[..., Screen], sample: Path, number: int, code: int) -> None:
    seen = screen(sys.executable, "-m", "lousho_cli", "tui", "--store", str(sample))
    seen.until(lambda: b"booking" in seen.output)
    seen.process.send_signal(number)
    seen.until(seen.left)
    _given_back(seen)
    assert seen.process.returncode == code


def test_case_214_a_fault_gives_the_terminal_back_and_is_said_in_a_line(screen: Callable[..., Screen], sample: Path) -> None:
    seen = screen(sys.executable, "-c", FAULTY, "tui", "--store", str(sample), "--color", "never")
    seen.until(lambda: b"booking" in seen.output)
    os.write(seen.leader, b"w")
    seen.until(seen.left)
    _given_back(seen)
    assert seen.process.returncode == 1
    told = seen.output[seen.output.rindex(b"\x1b[?1049l") :]
    assert b"out of order [red]" in told
    assert b"[LOUSHO_UNEXPECTED]" in told
    assert b"Traceback" not in told


def _given_back(seen: Screen) -> None:
    seen.until(lambda: all(code in seen.output for code in RESET))
    assert termios.tcgetattr(seen.follower) == seen.before


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """tmux with a server of its own."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    socket = str(tmp_path / "tmux")

    def ask(*words: str) -> str:
        ran = subprocess.run(["tmux", "-S", socket, "-f", os.devnull, *words], capture_output=True, text=True, timeout=60)
        return ran.stdout

    yield ask
    ask("kill-server")


def test_in_tmux_with_sixteen_colours(tmux: Callable[..., str], sample: Path) -> None:
    """Opens, filters, opens a ring, forks, approves, leaves: and the shell's screen is there again."""
    tmux(
        "new-session",
        "-d",
        "-x",
        "90",
        "-y",
        "28",
        "env",
        "-u",
        "COLUMNS",
        "-u",
        "LINES",
        "PS1=ready> ",
        "TERM=xterm",
        f"PYTHONPATH={ROOT}",
        "sh",
    )

    def shows(*words: str) -> None:
        end = time.monotonic() + 90
        while not all(word in (text := tmux("capture-pane", "-p")) for word in words):
            assert time.monotonic() < end, text
            time.sleep(0.02)

    shows("ready>")
    tmux("send-keys", "echo was-here", "Enter")
    shows("was-here")
    tmux("send-keys", f"{sys.executable} -m lousho_cli tui --store {sample}; echo left-with $?", "Enter")
    shows("6 sessions", "booking", "approve book_table", "enter open")
    tmux("send-keys", "f")
    shows("filter: id")
    tmux("send-keys", "-l", "report")
    shows("1 of 6", "the model could not be reached")
    tmux("send-keys", "Enter")
    shows("f filter")
    tmux("send-keys", "Enter")
    shows("ring of report")
    tmux("send-keys", "Down", "f")
    shows("Makes a new session; nothing runs", "lousho fork report@")
    tmux("send-keys", "C-s")
    shows("made report.fork-1", "go on with: lousho resume report.fork-1")
    tmux("send-keys", "Escape")
    shows("fork from here")
    tmux("send-keys", "w")
    shows("5f2c8e0d9a1b3c4d")
    tmux("send-keys", "a")
    shows('"people": 4', "lousho approve 7f3a9c1e2b4d", "approve            reject")
    tmux("send-keys", "Enter")
    shows("booking", "book_table", "go on with: lousho resume booking")
    tmux("send-keys", "q")
    shows("left-with 0", "was-here")
    log = (sample / "sessions" / "booking" / "log.jsonl").read_text()
    assert '"type":"lousho.wait_answered","id":"7f3a9c1e2b4d","approved":true' in log
    assert (sample / "sessions" / "report.fork-1" / "log.jsonl").exists()
    assert "6 sessions" not in tmux("capture-pane", "-p")
