"""Stores in a real PostgreSQL, with a proxy that cuts connections where a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pg_server
import psycopg
import pytest
from cutting_proxy import CuttingProxy

from lousho_cli.domain import records as r
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of an empty store of this test."""
    return pg_server.place_url(tmp_path)


@pytest.fixture
def opened() -> Iterator[Callable[..., PostgresStore]]:
    """Opens stores, and closes them behind the test."""
    stores: list[PostgresStore] = []

    def make(url: str, **options: Any) -> PostgresStore:
        stores.append(PostgresStore(url, **options))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(url: str, opened: Callable[..., PostgresStore]) -> PostgresStore:
    return opened(url)


@pytest.fixture
def proxy(url: str) -> Iterator[CuttingProxy]:
    """A way to the server that can be cut."""
    running = CuttingProxy(int(url.partition("127.0.0.1:")[2].partition("/")[0]))
    yield running
    running.close()


@pytest.fixture
def sql(url: str) -> Iterator[Callable[..., list[Any]]]:
    """Asks the server, as somebody with its console; ``{s}`` is the schema of this test."""
    place, _, schema = url.partition("?schema=")
    with psycopg.connect(place, autocommit=True) as connection:

        def ask(statement: str, *arguments: Any) -> list[Any]:
            cursor = connection.execute(statement.replace("{s}", schema), arguments or None)
            return cursor.fetchall() if cursor.description else []

        yield ask


@pytest.fixture
def batch() -> MakeBatch:
    def make(seq: int, epoch: int = 1, *records: Any) -> r.Batch:
        return r.Batch(seq, epoch, f"2026-01-01T00:00:00.{seq % 1000:03}Z", records or (r.Note("n", f"text {seq}"),))

    return make
