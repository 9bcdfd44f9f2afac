"""One database file as this process has it open: a connection that reads and, once something is written, one that writes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

from lousho_cli.errors import StorageError
from lousho_cli.stores.sqlite.errors import storage_error
from lousho_cli.stores.sqlite.opening import Adopt, open_file, require_sound

Row = tuple[Any, ...]


class Database:
    """The file at ``path``. Reading never makes it."""

    def __init__(self, path: str, adopt: Adopt) -> None:
        self.path = os.path.realpath(path)  # what lies beside it must lie beside the file itself
        self._adopt = adopt
        self._opening = threading.Lock()
        # What one thread reads while another's rows are still coming would be as old as when those began. Reentrant, for the collector.
        self._reading = threading.RLock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._closed = False
        self._sound = False

    def query(self, sql: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """The rows of a SELECT; [] without a file.

        Raises:
            StorageError: the file can not be opened or read.
        """
        reader = self._reader or self._open_reader()
        if reader is None:
            return []
        try:
            with self._reading:
                return reader.execute(sql, arguments).fetchall()
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error

    def _open_reader(self) -> sqlite3.Connection | None:
        with self._opening:
            self._require_open()
            if self._reader is None:
                self._reader = self._open(create=False)
            return self._reader

    def _open(self, *, create: bool) -> sqlite3.Connection | None:
        connection = open_file(self.path, create=create, adopt=self._adopt)
        if connection is not None and not self._sound:
            try:
                require_sound(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._sound = True
        return connection

    def writer(self) -> sqlite3.Connection:
        """The connection that writes; only the thread whose turn it is may use it.

        Raises:
            StorageError: the file can not be opened or made.
        """
        if self._writer is None:
            with self._opening:
                self._require_open()
                writer = self._open(create=True)
                assert writer is not None, "it is made where it is missing"
                try:
                    writer.execute("PRAGMA busy_timeout = 0")  # whose turn it is waits by itself, see writer.py
                except sqlite3.Error as error:
                    raise storage_error(self.path, error) from error
                self._writer = writer
        return self._writer

    def _require_open(self) -> None:
        if self._closed:
            raise StorageError(f"the store {self.path} was closed", hint="Make a new one to go on.")

    def close(self, *, wait: bool = True) -> None:
        """Closes the file, for whose turn it is to write. What was written stands in it; who comes last tidies its log away.

        Args:
            wait: for who reads: to close a connection in the middle of another thread's statement ends the process.
        """
        with self._opening:
            self._closed = True
            reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        if writer is not None:
            writer.close()
        if reader is not None and self._reading.acquire(blocking=wait):
            try:
                reader.close()
            finally:
                self._reading.release()

    def abandon(self) -> tuple[sqlite3.Connection | None, ...]:
        """In a forked child: forgets the connections, which are the parent's and must never be closed here."""
        connections, self._reader, self._writer = (self._reader, self._writer), None, None
        return connections
