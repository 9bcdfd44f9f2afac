"""Appending to a log that must be ours and end where we know it to: alone, or with what others append, in one statement.

One statement for all is what lets sixty-four sessions share a commit: a driver's call costs more than the row it brings,
and gives the interpreter away each time, which a busy event loop does not give back soon.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Any

from lousho_cli.domain.records import Batch
from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.sqlite.job import Asked, interrupted
from lousho_cli.stores.sqlite.keys import SEQ_MASK, first_key, key_of, last_key
from lousho_cli.stores.sqlite.logs import Line, clear, insert, lines_of, stand
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim

_STANDING = "SELECT (SELECT max(key) FROM batches WHERE key BETWEEN ? AND ?) FROM logs WHERE no = ? AND owner = ? AND epoch = ?"
_APPEND = """INSERT INTO batches (key, epoch, durable, line) SELECT ?, ?, ?, CAST(? AS TEXT) FROM logs
    WHERE no = ? AND owner = ? AND epoch = ? AND (? = ? OR EXISTS (SELECT 1 FROM batches WHERE key = ?))"""
# CROSS: what is given is gone through, and its logs are looked up; never the other way round.
_APPEND_ALL = """INSERT INTO batches (key, epoch, durable, line)
    WITH given (key, epoch, durable, line, owner, before) AS (VALUES {rows})
    SELECT given.key, given.epoch, durable, CAST(line AS TEXT) FROM given CROSS JOIN logs
    WHERE logs.no = given.key >> 24 AND logs.owner = given.owner AND logs.epoch = given.epoch
        AND (before & 16777215 = 0 OR EXISTS (SELECT 1 FROM batches WHERE batches.key = before))"""
_MOST_ROWS = 64
_NO_ROW = (0, 0, 0, "", "", 0)  # no log has the number 0


class Append(Asked[None]):
    """Lines on their way into one log. Several can be added together, see ``append_all``."""

    __slots__ = ("claim", "lines")

    def __init__(self, claim: SqliteClaim, batches: Sequence[Batch], *, durable: bool) -> None:
        super().__init__(durable)
        self.claim = claim
        self.lines: list[Line] = lines_of(claim.held.no, batches, durable=durable)

    @property
    def single(self) -> bool:
        return len(self.lines) == 1

    @property
    def size(self) -> int:
        """The bytes of its lines."""
        return sum([len(line[3]) for line in self.lines])

    def carry_out(self, connection: sqlite3.Connection) -> None:
        """Adds the lines, if the log is ours and ends where they begin.

        Raises:
            OwnershipLostError: it is another's.
            StorageError: it does not end there, or an earlier write of this claim failed.
        """
        claim, lines = self.claim, self.lines
        claim.require()
        end, first = lines[0][0] - 1, first_key(claim.held.no)
        # The batch before it stands there, and no other has its key: so the log ends where it begins.
        if not connection.execute(_APPEND, (*lines[0], *claim.held, end, first, end)).rowcount:
            require_end(connection, claim, end)
        if len(lines) > 1:
            insert(connection, lines[1:])

    def stands(self, connection: sqlite3.Connection) -> bool:
        """Whether every line is in the log."""
        return stand(connection, self.lines)

    def fail(self, error: BaseException) -> None:
        super().fail(error)
        self.claim.fail(interrupted(error))


def append_all(connection: sqlite3.Connection, appends: Sequence[Append]) -> bool:
    """Adds the lines of each append whose log is its claim's and ends where they begin; False where that was not so with every one.

    All lines of one append are held to the same condition, so they go in together or not at all.
    """
    values: list[Any] = []
    added = count = 0  # of ``values``: for each row its line, the owner it is asked of, and behind which key all of its append belong
    for append in appends:
        try:
            append.claim.require()
        except SDKError:
            continue  # alone it says why
        lines = append.lines
        if count + len(lines) > _MOST_ROWS and count:
            added += _add(connection, values, count)
            values, count = [], 0
        behind = (append.claim.held.token, lines[0][0] - 1)
        for line in lines:
            values += line
            values += behind
        count += len(lines)
    if count:
        added += _add(connection, values, count)
    return added == sum(len(append.lines) for append in appends)


def _add(connection: sqlite3.Connection, values: list[Any], count: int) -> int:
    """Adds rows. Their number is rounded up with empty ones, so that few statements serve any number of sessions."""
    room = 1 << (count - 1).bit_length()
    values += _NO_ROW * (room - count)
    return connection.execute(_statement(room), values).rowcount


@cache
def _statement(rows: int) -> str:
    return _APPEND_ALL.format(rows=", ".join(["(?, ?, ?, ?, ?, ?)"] * rows))


def require_end(connection: sqlite3.Connection, claim: SqliteClaim, end: int) -> None:
    """Lets only the owner of a log pass that ends at the key ``end``. Raises like ``Append.carry_out``."""
    no = claim.held.no
    rows = connection.execute(_STANDING, (first_key(no), last_key(no), *claim.held)).fetchall()
    if not rows:
        raise claim.lose()
    if (rows[0][0] or first_key(no)) != end:
        raise StorageError(f"the log of session {claim.log_id} does not end at {end & SEQ_MASK}, as its owner knows it")


def replace(connection: sqlite3.Connection, claim: SqliteClaim, line: Line, head: int) -> None:
    """Makes one line the whole log, if it is ours and ends at ``head``. Raises like ``Append.carry_out``."""
    claim.require()
    no = claim.held.no
    require_end(connection, claim, key_of(no, head))
    clear(connection, no)
    insert(connection, (line,))
