"""A report as a file that somebody named, such as ``--html FILE``: there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from lousho_cli.app.wiring import current_folder
from lousho_cli.errors import ConfigurationError, StorageError


def check_report(name: str, flag: str) -> None:
    """Whether a report may be called so, before anything is done for it.

    Raises:
        ConfigurationError: the name is empty, or ``-``: on stdout stands what the command says itself.
    """
    if not name.strip():
        raise ConfigurationError(f"{flag} is empty", field=flag, code="LOUSHO_USAGE", hint="Name a file, or leave it out.")
    if name == "-":
        hint = "Name a file; one that is called - is ./-."
        raise ConfigurationError(f"{flag} writes a file, and not to stdout", field=flag, code="LOUSHO_USAGE", hint=hint)


def write_report(name: str, data: bytes, flag: str, hint: str = "Check the folder, its permissions and the free space.") -> None:
    """Writes a file, and the folders above it; one that is there is replaced, and stands as it was where that fails.

    A pipe or a device is written to, and never replaced.

    Args:
        flag: the option that named it.
        hint: what to do where it fails.

    Raises:
        ConfigurationError: as ``check_report``.
        StorageError: it can not be written.
    """
    check_report(name, flag)
    asked = current_folder() / os.path.expanduser(name)
    try:
        if asked.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if asked.exists() and not asked.is_file():
            asked.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(asked)), data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{name} can not be written: {reason}", code="LOUSHO_SYSTEM_ERROR", hint=hint) from error


def _replace(target: Path, data: bytes) -> None:
    aside = target.with_name(f".{target.name:.100}.{secrets.token_hex(6)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        os.replace(aside, target)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
