"""The working folder, and nothing outside it.

A path a model gives is relative to the folder. Every link on the way is followed before it is
decided whether the end lies inside, and files are opened so that a link put in place meanwhile
is not followed.
"""

from __future__ import annotations

import os
from pathlib import Path

STORE_FOLDER = ".lousho"
"""Where sessions lie. A model neither reads what others said nor writes its own past."""


class OutsideWorkspace(Exception):
    """The path leads out of the working folder."""


def inside(workspace: Path, path: str) -> Path:
    """The real place of ``path``, which need not exist.

    Raises:
        OutsideWorkspace: it is absolute, has ``..`` in it, or a link on the way leads outside.
    """
    given = Path(path)
    if "\0" in path:
        raise OutsideWorkspace("a path can not hold a NUL character")
    if given.is_absolute() or path.startswith("~"):
        raise OutsideWorkspace(f"{path} is no path inside the working folder; give it relative to that folder")
    if ".." in given.parts:
        raise OutsideWorkspace(f"{path} has '..' in it; give a path inside the working folder")
    root = workspace.resolve()
    try:
        real = (root / given).resolve()
    except (OSError, RuntimeError) as error:  # a circle of links
        raise OutsideWorkspace(f"{path} can not be followed: {error}") from error
    if any(place.is_symlink() for place in (real, *real.parents)):  # newer Pythons leave a circle as it is
        raise OutsideWorkspace(f"{path} can not be followed: a link on the way leads back to itself")
    if real != root and root not in real.parents:
        raise OutsideWorkspace(f"{path} leads out of the working folder through a link")
    if STORE_FOLDER in (part.lower() for part in real.relative_to(root).parts):
        raise OutsideWorkspace(f"{path} belongs to the store of sessions, not to the working folder")
    return real


def open_inside(workspace: Path, path: str, flags: int) -> int:
    """A descriptor of the file at ``path``, walked to from the folder down without following any link.

    Raises:
        OutsideWorkspace: see ``inside``; also when a link was put in the way since.
        OSError: it can not be opened.
    """
    real = inside(workspace, path)
    folder = open_folder(workspace, real.parent)
    try:
        return os.open(real.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def open_folder(workspace: Path, real: Path, make: bool = False) -> int:
    """A descriptor of the folder ``real``, a result of ``inside`` or its parent, walked to without following any link.

    Args:
        make: creates the folders that are missing.

    Raises:
        OSError: there is none, or something else is in its place.
    """
    root = workspace.resolve()
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in real.relative_to(root).parts if real != root.parent else ():
        try:
            if make and not _has(here, part):
                os.mkdir(part, dir_fd=here)
            below = os.open(part, flags, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _has(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
