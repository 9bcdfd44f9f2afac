"""How each log of a store looks from outside. A log whose stamp is the same holds what it held; nothing is opened to tell."""

from __future__ import annotations

import os
from heapq import nlargest

from lousho_cli.stores.file.layout import LOG, Layout, id_of, storage_error


def stamps(layout: Layout, newest: int | None = None) -> tuple[dict[str, tuple[int, ...]], int]:
    """The stamp of each log by session id: when it was last written, in nanoseconds, then what else would change.

    Args:
        newest: look at no more than so many, those whose folders seem to have been made last. A disk numbers what it makes:
            so that is told without looking at any. It may be wrong, so it is good for a first look only.

    Returns:
        The stamps, and how many logs were not looked at.

    Raises:
        StorageError: the folder of the sessions can not be read.
    """
    found: dict[str, tuple[int, ...]] = {}
    try:
        here = os.open(layout.sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return found, 0
    except OSError as error:
        raise storage_error(layout.sessions, error) from error
    try:
        names, left = _names(here, newest)
        for name in names:
            if name.startswith("."):
                continue
            plain = name.isascii() and name.islower() and "^" not in name
            session_id = name if plain else id_of(name) or name  # where it is the name of none, reading it will say so
            try:
                info = os.stat(f"{name}/{LOG}", dir_fd=here)
            except FileNotFoundError:
                continue  # a folder with posts only, or one that was deleted just now
            except OSError:
                found[session_id] = (0,)  # reading it will say why
            else:
                found[session_id] = (info.st_mtime_ns, info.st_size, info.st_ino)
    except OSError as error:
        raise storage_error(layout.sessions, error) from error
    finally:
        os.close(here)
    return found, left


def _names(here: int, newest: int | None) -> tuple[list[str], int]:
    """The folders of sessions, and how many were left out."""
    if newest is None:
        return os.listdir(here), 0
    with os.scandir(here) as entries:
        found = list(entries)
    if len(found) <= newest:
        return [entry.name for entry in found], 0
    numbers = [entry.inode() for entry in found]
    least = nlargest(newest, numbers)[-1]  # numbers alone: ten thousand pairs would take longer than reading the folder
    return [entry.name for entry, number in zip(found, numbers, strict=True) if number >= least], len(found) - newest
