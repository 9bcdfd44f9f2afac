"""What kills the processes of running tools when this process is killed.

Linux can signal a child when its parent dies, but it means the *thread* that started the child,
setting it up needs code between fork and exec, which is not safe beside other threads, and it
reaches the first process only, never what that one started. So one small shell, started with the
first tool, listens on a pipe that only we hold open: it keeps the groups that run, and when the
pipe closes, however we ended, it kills what is left of them. Works on Linux and macOS.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

# The numbers of the groups that run are words of ``alive``. It must survive what is sent to us from a terminal.
_SCRIPT = """
trap '' HUP INT QUIT TERM
alive=' '
while read -r change group; do
  case $change in
    begun) alive="$alive$group " ;;
    ended) case $alive in *" $group "*) alive="${alive%% $group *} ${alive#* $group }" ;; esac ;;
  esac
done
for group in $alive; do kill -KILL -- "-$group"; done
"""


class Guardian:
    """Kills the groups it was told of when this process ends before it took them back."""

    def __init__(self) -> None:
        self._pipe = -1
        self._process: subprocess.Popen[bytes] | None = None

    def begun(self, group: int) -> None:
        """From now on the group must not outlive this process."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        self._tell(f"begun {group}\n")

    def ended(self, group: int) -> None:
        """The group is gone."""
        self._tell(f"ended {group}\n")

    def _start(self) -> None:
        self.close()
        reading, self._pipe = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        finally:
            os.close(reading)

    def _tell(self, line: str) -> None:
        if self._pipe >= 0:
            with suppress(BrokenPipeError):  # somebody killed it; the next group gets a new one
                os.write(self._pipe, line.encode())

    def close(self) -> None:
        """Lets it end, as the end of this process does."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._process is not None:
            self._process.wait()
            self._process = None


_guardian = Guardian()


def guardian() -> Guardian:
    """The guardian of this process."""
    return _guardian


def _after_fork() -> None:
    # The pipe belongs to the parent: as long as we held it too, the parent's end would go unseen.
    global _guardian
    if _guardian._pipe >= 0:
        os.close(_guardian._pipe)
    _guardian = Guardian()


os.register_at_fork(after_in_child=_after_fork)
