"""What kills the processes of running tools when this process is killed.

Linux can signal a child when its parent dies, but it means the *thread* that started the child,
setting it up needs code between fork and exec, which is not safe beside other threads, and it
reaches the first process only, never what that one started. So one small shell, started with the
first tool, listens on a pipe that only we hold open: it keeps the groups that run, and when the
pipe closes, however we ended, it kills what is left of them. Works on Linux and macOS.
"""

from __future__ import annotations

import atexit
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
for group in $alive; do kill -s KILL -- "-$group"; done
"""


class Guardian:
    """Kills the groups it was told of when this process ends before it took them back."""

    def __init__(self) -> None:
        self._pipe = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def ready(self) -> None:
        """Sees to it that it listens.

        Raises:
            OSError: it can not be started.
        """
        if self._process is None or self._process.poll() is not None:
            self._start()
            for group in self._groups:
                self._tell(f"begun {group}\n")

    def begun(self, group: int) -> None:
        """From now on the group must not outlive this process."""
        self._groups.add(group)
        self._tell(f"begun {group}\n")

    def ended(self, group: int) -> None:
        """The group is gone."""
        self._groups.discard(group)
        self._tell(f"ended {group}\n")

    def close(self) -> None:
        """Lets it do its work and end, as the end of this process does."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._process is not None:
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """In a forked child: the pipe is the parent's, whose end would go unseen as long as we held it too."""
        if self._pipe >= 0:
            os.close(self._pipe)
        self._pipe, self._process, self._groups = -1, None, set()

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
            with suppress(BrokenPipeError):  # somebody killed it; the next ``ready`` starts another
                os.write(self._pipe, line.encode())


_guardian = Guardian()
atexit.register(_guardian.close)


def guardian() -> Guardian:
    """The guardian of this process."""
    return _guardian


os.register_at_fork(after_in_child=_guardian.forget)
