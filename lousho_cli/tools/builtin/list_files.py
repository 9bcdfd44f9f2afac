"""``list-files``: what lies in the working folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lousho_cli.ports.tool import Tool
from lousho_cli.tools.builtin.workspace import STORE_FOLDER, inside
from lousho_cli.tools.function import Replay, function_tool

MAX_ENTRIES = 2000
"""No more than this is listed."""


def make(workspace: Path, needs_approval: bool | None = None, replay: Replay | None = None) -> Tool:
    def list_files(
        path: Annotated[str, Field(description="a folder, relative to the working folder")] = ".",
        recursive: Annotated[bool, Field(description="also what lies in its folders")] = False,
    ) -> dict[str, Any]:
        """Lists files and folders of the working folder, by name."""
        top = inside(workspace, path)
        if not top.is_dir():
            raise ValueError(f"{path} is no folder")
        entries = list(islice(_entries(top, "", recursive), MAX_ENTRIES + 1))
        return {"path": path, "entries": entries[:MAX_ENTRIES]} | ({"more": True} if len(entries) > MAX_ENTRIES else {})

    return function_tool(list_files, name="list-files", replay=replay or "safe", needs_approval=bool(needs_approval), read_only=True)


def _entries(folder: Path, prefix: str, recursive: bool) -> Iterator[dict[str, Any]]:
    with os.scandir(folder) as found:
        ordered = sorted(found, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.name.lower() == STORE_FOLDER:
            continue
        name = prefix + entry.name
        if entry.is_symlink():
            yield {"name": name, "type": "link"}  # never followed: it may lead out
        elif entry.is_dir():
            yield {"name": name, "type": "folder"}
            if recursive:
                yield from _entries(Path(entry.path), name + "/", recursive)
        else:
            yield {"name": name, "type": "file", "size": entry.stat(follow_symlinks=False).st_size}
