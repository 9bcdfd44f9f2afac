"""The tools that come with lousho, each in a file of its own, loaded when it is asked for.

May import ``tools``, ``ports``, ``domain`` and ``errors``. Each module has a ``make`` that takes the
working folder and options by name: ``needs_approval`` and ``replay`` (None: the tool's own), and
those of the tool.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from lousho_cli.ports.tool import Tool

Make = Callable[..., Tool]


def _lazy(module: str) -> Make:
    def make(workspace: Path, **options: Any) -> Tool:
        return cast("Tool", import_module(f"{__name__}.{module}").make(workspace, **options))

    return make


BUILTINS: dict[str, Make] = {
    "ask-question": _lazy("ask_question"),
    "current-date": _lazy("current_date"),
    "http": _lazy("http"),
    "list-files": _lazy("list_files"),
    "read-file": _lazy("read_file"),
    "shell": _lazy("shell"),
    "write-file": _lazy("write_file"),
}
"""Name to ``make(workspace, **options) -> Tool``."""
