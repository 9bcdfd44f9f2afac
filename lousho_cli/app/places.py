"""Where things lie: the ``.lousho`` folder and the configuration files, found by walking up from here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

STORE_FOLDER = ".lousho"
PROJECT_FILES = (f"{STORE_FOLDER}/config.toml", "lousho.toml")


def folders_above(start: Path) -> Iterator[Path]:
    """``start`` and the folders above it, up to the home folder or the root of its file system, as git looks for its own."""
    here = start.absolute()
    home = _home()
    try:
        device = here.stat().st_dev
    except OSError:
        return
    for folder in (here, *here.parents):
        try:
            if folder.stat().st_dev != device:
                return
        except OSError:
            return
        yield folder
        if folder == home:
            return


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # no home is known, so there is no limit to stop at
        return None


def is_ours(path: Path) -> bool:
    """Whether a file or folder belongs to who runs this process: another user's settings and sessions are not to be trusted."""
    try:
        return path.stat().st_uid == os.geteuid()
    except OSError:
        return False


def find_store_folder(start: Path) -> Path | None:
    """The nearest ``.lousho`` of this user at or above ``start``, None when there is none."""
    for folder in folders_above(start):
        place = folder / STORE_FOLDER
        if place.is_dir() and is_ours(place):
            return place
    return None


def find_project_file(start: Path) -> Path | None:
    """The nearest configuration file of this user at or above ``start``; in one folder ``.lousho/config.toml`` comes first."""
    for folder in folders_above(start):
        for name in PROJECT_FILES:
            file = folder / name
            if file.is_file() and is_ours(file):
                return file
    return None


def user_file() -> Path:
    """This user's own configuration file, which need not exist."""
    from platformdirs import user_config_path

    return user_config_path("lousho") / "config.toml"


def base_of(file: Path) -> Path:
    """The folder that relative paths in a configuration file start from."""
    return file.parent.parent if file.parent.name == STORE_FOLDER else file.parent
