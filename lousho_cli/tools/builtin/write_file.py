"""``write-file``: a whole text file of the working folder, replaced at once or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lousho_cli.ports.tool import Tool
from lousho_cli.tools.builtin.workspace import inside, open_folder
from lousho_cli.tools.function import Replay, function_tool


def make(workspace: Path, needs_approval: bool | None = None, replay: Replay | None = None) -> Tool:
    def write_file(path: Annotated[str, Field(description="relative to the working folder")], content: str) -> dict[str, Any]:
        """Writes a text file of the working folder, with its folders, in place of what was there."""
        real = inside(workspace, path)
        if real == workspace.resolve():
            raise ValueError(f"{path!r} is the working folder, not a file in it")
        data = content.encode("utf-8", "replace")
        folder = open_folder(workspace, real.parent, make=True)
        try:
            _replace(folder, real.name, data)
        finally:
            os.close(folder)
        return {"path": path, "bytes": len(data)}

    # Writing the same again changes nothing, so a call that was cut may simply run again.
    gated = True if needs_approval is None else needs_approval
    return function_tool(write_file, name="write-file", replay=replay or "safe", needs_approval=gated, edits=True)


def _replace(folder: int, name: str, data: bytes) -> None:
    mode = _mode_of(folder, name)
    aside = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(aside, dir_fd=folder)
        raise


def _mode_of(folder: int, name: str) -> int | None:
    """The permissions of the file that is replaced, None for a new one."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{name} is no regular file")
    return stat.S_IMODE(found.st_mode)
