"""``hosts/``: which hosts with a stable id live, a file each. Its mtime, by the clock of the disk, says when it was last heard of."""

from __future__ import annotations

import os

from lousho_cli.core.session_ids import check_session_id, escaped
from lousho_cli.stores.file.layout import Layout, make_folder, read_file
from lousho_cli.stores.file.owner_files import expired


def beat(layout: Layout, host_id: str, ttl_ms: int) -> None:
    """Says that a host lives.

    Raises:
        ConfigurationError: the id can not be a file's name.
        OSError: it could not be written.
    """
    path = _path(layout, host_id)
    make_folder(layout.hosts)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(file, b"%020d\n" % ttl_ms, 0)  # always as long, so that no reader finds half of it
        os.utime(file)
    finally:
        os.close(file)


def lives(layout: Layout, host_id: str, now_ns: int) -> bool:
    """Whether a host was heard of within its time. Raises like ``beat``."""
    path = _path(layout, host_id)
    said = read_file(path)
    if not said or not said.strip().isdigit():
        return False
    return not expired(os.stat(path).st_mtime_ns, int(said), now_ns)


def _path(layout: Layout, host_id: str) -> str:
    return f"{layout.hosts}/{escaped(check_session_id(host_id))}"
