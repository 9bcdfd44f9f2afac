"""A connection in use: statements with the name of the schema put in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from lousho_cli.stores.postgres.driver import Connection, Row

NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
"""The clock of leases: the server's."""


@lru_cache(maxsize=1000)
def _in_schema(statement: str, schema: str) -> str:
    return statement.replace("{s}", f'"{schema}"')


class Hand:
    """What an operation works with. ``{s}`` in a statement is the schema."""

    def __init__(self, connection: Connection, schema: str) -> None:
        self.connection, self.schema = connection, schema

    def rows(self, statement: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """The rows that a statement gives."""
        rows: list[Row] = self._execute(statement, arguments).fetchall()
        return rows

    def run(self, statement: str, arguments: Sequence[Any] = ()) -> int:
        """How many rows a statement changed."""
        return int(self._execute(statement, arguments).rowcount)

    def _execute(self, statement: str, arguments: Sequence[Any]) -> Any:
        return self.connection.execute(_in_schema(statement, self.schema), arguments or None)

    def transaction(self) -> AbstractContextManager[Any]:
        """Everything within it counts, or nothing."""
        return self.connection.transaction()
