"""Takes over a file that the original product made: its sessions become logs, its own tables stay under other names."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable, Iterable

from lousho_cli.core.adopting import Adopted, batches_of, gather
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError
from lousho_cli.stores.originals import rows
from lousho_cli.stores.sqlite.claims import number_of
from lousho_cli.stores.sqlite.heads import put
from lousho_cli.stores.sqlite.logs import insert, lines_of

TABLES = ("sessions", "checkpoints", "approvals", "checkpoint_history")
_EPOCH = 1


def adopt(connection: sqlite3.Connection, path: str, history_limit: int) -> Callable[[], Iterable[str]]:
    """Reads what the original kept and sets its tables aside; gives what writes it, once our tables are there.

    Both within one transaction. What is given says in words, when called, what could not be taken over.

    Raises:
        StorageError: its tables can not be read.
    """
    found = gather(rows(connection, path))
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in TABLES:
        if table in there:
            connection.execute(f"ALTER TABLE {table} RENAME TO original_{table}")

    def write() -> list[str]:
        said = [f"{where}: {why}" for where, why in found.unreadable]
        said += found.left
        for adopted in found.sessions:
            try:
                check_session_id(adopted.id)
            except ConfigurationError as error:
                said.append(f"{adopted.where}: {error.detail}")
            else:
                _write(connection, adopted, history_limit)
        return said

    return write


def _write(connection: sqlite3.Connection, adopted: Adopted, history_limit: int) -> None:
    limit = history_limit if adopted.ring else 0  # what was saved before the file kept a history has none until its next save
    batches = batches_of(adopted, Session(), _EPOCH, socket.gethostname(), limit)
    no = number_of(connection, adopted.id)
    insert(connection, lines_of(no, batches))
    connection.execute("UPDATE logs SET epoch = ? WHERE no = ?", (_EPOCH, no))
    put(connection, no, head_of(fold(batches)))
