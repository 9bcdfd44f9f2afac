"""Appending to a log that must be ours and end where we know it to: alone, or with what others append, in one statement.

One statement for all is what lets sixty-four sessions share a commit: a driver's call costs more than the row it brings,
and gives the interpreter away each time, which a busy event loop does not give back soon.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from lousho_cli.domain.records import Batch
from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.sqlite.job import Asked, interrupted
from lousho_cli.stores.sqlite.keys import SEQ_MASK, first_key, key_of, last_key
from lousho_cli.stores.sqlite.logs import Line, clear, insert, lines_of, stand
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim

_STANDING = "SELECT (SELECT max(key) FROM batches WHERE key BETWEEN ? AND ?) FROM logs WHERE no = ? AND owner = ? AND epoch = ?"
# Where a log is read to say whether one may write to it, VALUES needs no temporary table; SELECT would bring each row through one.
_APPEND = """INSERT INTO batches (key, epoch, durable, line) VALUES (
    (SELECT ? FROM logs WHERE no = ? AND owner = ? AND epoch = ? AND (? = ? OR EXISTS (SELECT 1 FROM batches WHERE key = ?))),
    ?, ?, CAST(? AS TEXT))"""
# CROSS: what is given is gone through, and its logs are looked up; never the other way round.
_COUNT = "WITH given (key) AS (VALUES {rows}) SELECT count(*) FROM given CROSS JOIN batches ON batches.key = given.key"
_APPEND_ALL = """INSERT INTO batches (key, epoch, durable, line)
    WITH given (key, epoch, durable, line, owner) AS (VALUES {rows})
    SELECT given.key, given.epoch, durable, CAST(line AS TEXT) FROM given CROSS JOIN logs
    WHERE logs.no = given.key >> 24 AND logs.owner = given.owner AND logs.epoch = given.epoch"""
_MOST_ROWS = 64
_NO_ROW = (0, 0, 0, "", "")  # no log has the number 0


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

    def carry_out(self, connection: sqlite3.Connection) -> None:
        """Adds the lines, if the log is ours and ends where they begin.

        Raises:
            OwnershipLostError: it is another's.
            StorageError: it does not end there, or an earlier write of this claim failed.
        """
        claim, lines = self.claim, self.lines
        claim.require()
        key, *rest = lines[0]
        end, first = key - 1, first_key(claim.held.no)
        try:
            # The batch before it stands there, and no other has its key: so the log ends where it begins.
            connection.execute(_APPEND, (key, *claim.held, end, first, end, *rest))
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_NOTNULL:  # there is no key for it
                require_end(connection, claim, end)
            raise
        if len(lines) > 1:
            insert(connection, lines[1:])

    def stands(self, connection: sqlite3.Connection) -> bool:
        """Whether every line is in the log."""
        return stand(connection, self.lines)

    def fail(self, error: BaseException) -> None:
        super().fail(error)
        self.claim.fail(interrupted(error))


def append_all(connection: sqlite3.Connection, appends: Sequence[Append]) -> bool:
    """Adds the lines of each append whose log is its claim's, if every log ends where they begin; False where not all were added.

    All lines of one append are held to the same conditions, so they go in together or not at all.
    """
    rows: list[tuple[Any, ...]] = []
    ends: list[tuple[int]] = []
    for append in appends:
        try:
            append.claim.require()
        except SDKError:
            continue  # alone it says why
        owner = append.claim.held.token
        rows += [(*line, owner) for line in append.lines]
        end = append.lines[0][0] - 1
        if end & SEQ_MASK:
            ends.append((end,))
    # The batches before them stand there, and no others have their keys: so each log ends where they begin.
    if sum(_many(connection, _COUNT, some, (0,)).fetchall()[0][0] for some in _parts(ends)) < len(ends):
        return False
    added = sum(_many(connection, _APPEND_ALL, some, _NO_ROW).rowcount for some in _parts(rows))
    return added == sum(len(append.lines) for append in appends)


def _parts(rows: list[Any]) -> Iterator[list[Any]]:
    return (rows[at : at + _MOST_ROWS] for at in range(0, len(rows), _MOST_ROWS))


def _many(connection: sqlite3.Connection, sql: str, rows: list[Any], no_row: tuple[Any, ...]) -> sqlite3.Cursor:
    """Carries a statement out for rows. Their number is rounded up with empty ones, so that few statements serve any number of sessions."""
    room = 1 << (len(rows) - 1).bit_length()
    rows += [no_row] * (room - len(rows))
    return connection.execute(_for(sql, room, len(no_row)), list(chain.from_iterable(rows)))


@cache
def _for(sql: str, rows: int, width: int) -> str:
    row = f"({', '.join('?' * width)})"
    return sql.format(rows=", ".join([row] * rows))


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
