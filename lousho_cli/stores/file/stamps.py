"""How each log of a store looks from outside. A log whose stamp is the same holds what it held; nothing is opened to tell."""

from __future__ import annotations

import os

from lousho_cli.stores.file.layout import LOG, Layout, id_of, storage_error


def stamps(layout: Layout) -> dict[str, tuple[int, ...]]:
    """The stamp of each log by session id: when it was last written, in nanoseconds, then what else would change.

    Raises:
        StorageError: the folder of the sessions can not be read.
    """
    found: dict[str, tuple[int, ...]] = {}
    try:
        here = os.open(layout.sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return found
    except OSError as error:
        raise storage_error(layout.sessions, error) from error
    try:
        for name in os.listdir(here):
            session_id = None if name.startswith(".") else name if name.isascii() and name.islower() and "^" not in name else id_of(name)
            if session_id is None:
                continue
            try:
                info = os.stat(f"{name}/{LOG}", dir_fd=here)
            except FileNotFoundError:
                continue  # a folder with posts only, or one that was deleted just now
            except OSError:
                found[session_id] = (0,)  # reading it will say why
            else:
                found[session_id] = (info.st_mtime_ns, info.st_size, info.st_ino)
    finally:
        os.close(here)
    return found
