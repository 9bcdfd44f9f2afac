"""``read-file``: a text file of the working folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lousho_cli.ports.tool import Tool
from lousho_cli.tools.builtin.workspace import open_inside
from lousho_cli.tools.function import Replay, function_tool

MAX_BYTES = 1_000_000
"""No more than this is given at once."""


def make(workspace: Path, needs_approval: bool | None = None, replay: Replay | None = None) -> Tool:
    def read_file(
        path: Annotated[str, Field(description="relative to the working folder")],
        offset: Annotated[int, Field(ge=0, description="first byte to read")] = 0,
        limit: Annotated[int, Field(ge=1, le=MAX_BYTES, description="most bytes to read")] = MAX_BYTES,
    ) -> dict[str, Any]:
        """Reads a text file of the working folder."""
        handle = open_inside(workspace, path, os.O_RDONLY)
        with open(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ValueError(f"{path} is no regular file")
            file.seek(offset)
            data = file.read(limit)
        text = data.decode("utf-8", "replace")
        end = offset + len(data)
        return {"path": path, "content": text} | ({"size": found.st_size, "next_offset": end} if end < found.st_size else {})

    return function_tool(read_file, name="read-file", replay=replay or "safe", needs_approval=bool(needs_approval), read_only=True)
