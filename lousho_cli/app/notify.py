"""Tells somebody elsewhere that a run waits or failed: runs commands, and never waits for them.

Each gets the item as JSON on standard input. It runs in a session of its own, outlives us, and is
killed with all it started when it takes too long; what it says is thrown away.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from lousho_cli.domain.plain import json_text

TIME_LIMIT_SECONDS = 60

# The shell returns at once. What it leaves running is one group: the command, and a watch that kills the group.
# A command in the background has no input of its own, so ours is handed on as descriptor 3.
_DETACHED = """
limit=$1; shift
exec 3<&0
{
  ( trap 'kill "$sleeper"; exit' TERM; sleep "$limit" & sleeper=$!; wait "$sleeper"; kill -s KILL 0 ) 3<&- &
  watch=$!
  "$@" <&3 3<&-
  kill -s TERM "$watch"
} &
"""


def notify(commands: Sequence[Sequence[str]], item: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """Starts each command with ``item`` as JSON on its standard input.

    Args:
        commands: each a program and its arguments; one with a slash is found from ``folder``.
        item: the pending approval, or the failure.

    Returns:
        a sentence for each command that could not be started. Never raises.
    """
    data = json_text(dict(item))[0].encode()
    return tuple(warning for command in commands if (warning := _start(command, data, folder)))


def _start(command: Sequence[str], data: bytes, folder: Path) -> str:
    program = str(folder / command[0]) if os.sep in command[0] else shutil.which(command[0])
    if program is None or not os.access(program, os.X_OK) or Path(program).is_dir():
        missing = program is None or not Path(program).exists()
        return f"notify: can not start {command[0]}: {'there is no such program' if missing else 'it is not executable'}"
    try:
        with TemporaryFile() as item:  # a file, so that a command that reads nothing holds up nobody
            item.write(data)
            item.seek(0)
            subprocess.run(
                ["/bin/sh", "-c", _DETACHED, "sh", str(TIME_LIMIT_SECONDS), program, *command[1:]],
                stdin=item,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                start_new_session=True,
                check=False,
            )
    except (OSError, ValueError) as error:
        return f"notify: can not start {command[0]}: {error}"
    return ""
