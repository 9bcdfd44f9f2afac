"""Python files read as trees."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def parsed(path: Path) -> ast.Module:
    """The tree of one file.

    Nothing is collected meanwhile: CPython 3.11 counts the depth of the tree it makes in one place for all threads, and a finalizer that
    runs in the middle lets in another thread, which may be making one, too (it then says that the depth does not match).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text("utf-8"))
    finally:
        if collects:
            gc.enable()
