"""Where everything lies below the store's folder, and with which rights.

    sessions/<name>/log.jsonl, owner.<epoch>.json, snapshot.json, head.json, inbox/
    hosts/<name>    hosts with a stable id; the mtime says when one last said that it lives, the text for how many milliseconds
    .trash/         folders on their way out
    .gitignore      ``*``, where we made the folder

A name is a session id with its capitals escaped, so that ids which differ only in case never
share a folder on a disk that ignores case. No file repeats the id: a copied store works.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from lousho_cli.core.session_ids import check_session_id, escaped
from lousho_cli.errors import ConfigurationError, NotAStoreError, StorageError

LOG, SNAPSHOT, HEAD, INBOX = "log.jsonl", "snapshot.json", "head.json", "inbox"
FOLDER_MODE, FILE_MODE = 0o700, 0o600

_MAX_PLAIN = 200  # file systems stop at 255 bytes a name; a folder in the trash gets a suffix


def name_of(session_id: str) -> str:
    """The folder name of a session.

    ``Trip`` is ``^trip``. Where that gets too long, the capitals are a bit mask behind ``^^``.
    """
    return _name_of(session_id if isinstance(session_id, str) else check_session_id(session_id))


@lru_cache(maxsize=1024)  # the inboxes of those who wait are looked into fifty times a second
def _name_of(session_id: str) -> str:
    name = escaped(check_session_id(session_id))
    if len(name) <= _MAX_PLAIN:
        return name
    mask = int("".join("1" if char.isupper() else "0" for char in session_id), 2)
    return f"{session_id.lower()}^^{mask:x}"


def id_of(name: str) -> str | None:
    """The session id of a folder name, None when it is the name of none."""
    text, long, mask = name.partition("^^")
    try:
        if long:
            bits = f"{int(mask, 16):0{len(text)}b}"
            session_id = "".join(char.upper() if bit == "1" else char for char, bit in zip(text, bits, strict=True))
        else:
            session_id = re.sub(r"\^([a-z])", lambda found: found[1].upper(), name)
        return session_id if name_of(session_id) == name else None
    except (ValueError, ConfigurationError):
        return None


def storage_error(path: str | os.PathLike[str], error: OSError) -> StorageError:
    """What the system said about a path, as one of our errors."""
    reason = (error.strerror or str(error)).lower()
    failed = StorageError(f"{os.fspath(path)}: {reason}", hint=_HINTS.get(error.errno or 0, ""))
    failed.__cause__ = error
    return failed


_HINTS = {
    13: "Check the rights of the folder, or name another store with --store.",
    28: "Make room on the disk; what was saved is still there.",
    30: "The file system is read-only; name another store with --store.",
}


class Layout:
    """The paths of one store. ``root`` is the folder that holds ``sessions/``."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.sessions = self.root / "sessions"
        self.trash = self.root / ".trash"
        self.hosts = self.root / "hosts"
        self._root, self._sessions = os.fspath(self.root), os.fspath(self.sessions)
        self._made = False

    def folder(self, session_id: str) -> str:
        return f"{self._sessions}/{name_of(session_id)}"

    def log(self, session_id: str) -> str:
        return f"{self.folder(session_id)}/{LOG}"

    def check(self) -> bool:
        """Whether the store is there.

        Raises:
            NotAStoreError: its path is something else, or belongs to another user.
            StorageError: it can not be looked at.
        """
        try:
            info = os.stat(self._root)
        except FileNotFoundError:
            return False
        except NotADirectoryError as error:
            raise NotAStoreError(f"{self.root} lies below a file, so it is no store") from error
        except OSError as error:
            raise storage_error(self.root, error) from error
        if not stat.S_ISDIR(info.st_mode):
            raise NotAStoreError(f"{self.root} is a file, not the folder of a store")
        if info.st_uid != os.geteuid():
            raise NotAStoreError(f"{self.root} belongs to another user (id {info.st_uid})", hint="Name a store of your own with --store.")
        return True

    def make(self) -> None:
        """Makes the store's folder where it is missing."""
        if self._made and os.path.isdir(self._sessions):
            return
        try:
            if not self.check():
                self.root.parent.mkdir(parents=True, exist_ok=True)
                make_folder(self.root)
                write_new(self.root / ".gitignore", b"*\n")
                sync_folder(self.root.parent)
            make_folder(self.sessions)
        except OSError as error:
            raise storage_error(self.root, error) from error
        self._made = True

    def make_session(self, session_id: str) -> str:
        """Makes the folder of a session where it is missing, and gives its path."""
        folder = self.folder(session_id)
        self.make()
        try:
            make_folder(folder)
        except OSError as error:
            raise storage_error(folder, error) from error
        return folder

    def names(self) -> list[str]:
        """The names below ``sessions/``; [] without a store."""
        if not self.check():
            return []
        try:
            return os.listdir(self._sessions)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(self.sessions, error) from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """Makes one folder, for its owner alone whatever the umask; no error when it is there."""
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        return
    try:
        os.chmod(path, FOLDER_MODE)
    except FileNotFoundError:
        return  # somebody removed it again already; who uses it finds out and comes back


def open_file(path: str, flags: int) -> int:
    """Opens a file, for its owner alone whatever the umask where it is made."""
    file = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    if flags & os.O_CREAT and stat.S_IMODE(os.fstat(file).st_mode) != FILE_MODE:
        os.fchmod(file, FILE_MODE)
    return file


def open_to_read(path: str, dir_fd: int | None = None) -> int:
    """Opens a file to read it. Never waits: a pipe in its place would, until somebody writes to it.

    Raises:
        OSError: it can not be read, or is no file.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=dir_fd)
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, os.strerror(number) if stat.S_ISDIR(mode) else "not a file", path)
    return file


def write_new(path: str | os.PathLike[str], data: bytes, *, sync: bool = False) -> None:
    """Writes a whole small file.

    Raises:
        OSError: it could not be written whole; it is then gone again.
    """
    file = open_file(os.fspath(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(file, data)
        if sync:
            os.fsync(file)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(file)


def write_all(file: int, data: bytes) -> None:
    """Writes all of ``data``, in as many pieces as the system wants."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Makes durable which names a folder holds."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def read_file(path: str) -> bytes | None:
    """A whole file, None when there is none.

    Raises:
        OSError: it can not be read.
    """
    try:
        file = open_to_read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return read_from(file, 0)
    finally:
        os.close(file)


def read_from(file: int, offset: int) -> bytes:
    """The bytes of an open file from ``offset`` to its end."""
    pieces = []
    want = max(os.fstat(file).st_size - offset, 0) + 1
    while piece := os.pread(file, want, offset):
        pieces.append(piece)
        offset += len(piece)
        want = max(want - len(piece), 65536)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
