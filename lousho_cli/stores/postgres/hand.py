"""A connection in use: statements with the name of the schema put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from lousho_cli.stores.postgres.driver import Connection, Row, psycopg
from lousho_cli.stores.postgres.wire import BINARY, NO, TEXT, YES

NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
"""The clock of leases: the server's."""


@lru_cache(maxsize=1000)
def in_schema(statement: str, schema: str) -> str:
    """A statement with the name of the schema put in."""
    return statement.replace("{s}", f'"{schema}"')


@lru_cache(maxsize=100)
def _as_sent(statement: str, schema: str) -> bytes:
    return in_schema(statement, schema).encode()


@lru_cache(maxsize=100)
def _calling(function: str, arguments: int, schema: str) -> bytes:
    return f'SELECT * FROM "{schema}".{function}({", ".join(f"${n}" for n in range(1, arguments + 1))})'.encode()


class Hand:
    """What an operation works with. ``{s}`` in a statement is the schema."""

    def __init__(self, connection: Connection, schema: str) -> None:
        self.connection, self.schema = connection, schema

    def rows(self, statement: str, arguments: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """The rows that a statement gives."""
        rows: list[Row] = self._execute(statement, arguments).fetchall()
        return rows

    def run(self, statement: str, arguments: Sequence[Any] = ()) -> int:
        """How many rows a statement changed."""
        return int(self._execute(statement, arguments).rowcount)

    def first(self, statement: str, values: Sequence[bytes], forms: Sequence[int]) -> list[bytes]:
        """The first column of what a statement gives, as the server sends it.

        For what is sent all the time: in a third of the time that ``rows`` takes.

        Args:
            statement: with ``$1`` and so on. values: as the server takes them. forms: of each, see ``wire``.
        """
        result = self._sent(_as_sent(statement, self.schema), values, forms)
        return [result.get_value(row, 0) for row in range(result.ntuples)]

    def call(self, function: str, *values: int | str | bytes | None) -> list[tuple[Any, ...]]:
        """The rows that one of ``functions`` gives, each value as the server writes it: in bytes, or None.

        Args:
            values: lists in the binary form of ``wire``.
        """
        given = [value if value is None or isinstance(value, bytes) else _written(value) for value in values]
        forms = [BINARY if isinstance(value, str | bytes) else TEXT for value in values]
        result = self._sent(_calling(function, len(values), self.schema), given, forms)
        value, columns = result.get_value, range(result.nfields)
        return [tuple([value(row, column) for column in columns]) for row in range(result.ntuples)]

    def _sent(self, statement: bytes, values: Sequence[bytes | None], forms: Sequence[int]) -> Any:
        link = self.connection.pgconn
        link.send_query_params(statement, values, param_formats=forms)
        result, *_ = self.connection.wait(psycopg.generators.execute(link))  # a connection that ends may say so more than once
        if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
            raise psycopg.errors.error_from_result(result)
        return result

    def _execute(self, statement: str, arguments: Sequence[Any] | Mapping[str, Any]) -> Any:
        return self.connection.execute(in_schema(statement, self.schema), arguments or None)

    def transaction(self) -> AbstractContextManager[Any]:
        """Everything within it counts, or nothing."""
        return self.connection.transaction()


def _written(value: int | str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return (YES if value else NO) if isinstance(value, bool) else b"%d" % value
