"""A newer version brings the tables further while an older one works with them: both go on, and the step is taken once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pg_server
import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.domain import records as r
from lousho_cli.stores.postgres import database, schema
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]


@pytest.fixture
def new_url() -> str:
    return f"{pg_server.run_url()}?schema={pg_server.new_schema()}"


@pytest.fixture
def older(new_url: str) -> Iterator[Callable[..., Any]]:
    """A store in a process of the version as it is; asks it for something."""
    script = Path(__file__).parents[2] / "contracts" / "other_process.py"
    environ = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
    command = [sys.executable, str(script), "postgres", new_url]
    running = Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)

    def ask(name: str, **arguments: Any) -> Any:
        running.stdin.write(json.dumps([name, arguments]) + "\n")
        running.stdin.flush()
        return json.loads(running.stdout.readline())

    yield ask
    running.kill()
    running.wait()
    for pipe in (running.stdin, running.stdout):
        pipe.close()


async def test_tables_that_the_next_write_completes_are_no_fault(new_url: str, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    first = opened(new_url)
    await first.release(await first.claim("trip", "here"))
    first.close()
    made = "CREATE FUNCTION {s}.newer() RETURNS void LANGUAGE plpgsql AS $$BEGIN END$$"
    for name, value in (("VERSION", 2), ("FUNCTIONS", (*schema.FUNCTIONS, made)), ("MIGRATIONS", (*schema.MIGRATIONS, (1, (made,))))):
        monkeypatch.setattr(schema, name, value)
    monkeypatch.setattr(database, "VERSION", 2)
    store = opened(new_url)
    assert "at version 1" in await asyncio.to_thread(store.describe)
    claim = await store.claim("other", "here")
    assert "at version 2" in await asyncio.to_thread(store.describe)
    await store.release(claim)


async def test_two_versions_go_on_while_one_migrates(
    new_url: str, older: Callable[..., Any], opened: Open, batch: MakeBatch, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert older("claim", log="old") == 1
    step = (schema.VERSION, ("ALTER TABLE {s}.logs ADD COLUMN newer text", "SELECT pg_sleep(0.2)"))
    newest = schema.VERSION + 1
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    for module in (schema, database):
        monkeypatch.setattr(module, "VERSION", newest)
    acknowledged: list[int] = []
    done = asyncio.Event()

    async def append() -> None:
        while not done.is_set():
            acknowledged.append(await asyncio.to_thread(older, "append", text="beside"))

    appending = asyncio.create_task(append())
    stores = [opened(new_url) for _ in range(3)]
    held = await asyncio.gather(*(store.claim(f"new-{n}", "there") for n, store in enumerate(stores)))
    done.set()
    await appending
    name = stores[0].address.schema
    assert sql(f"SELECT version, least FROM {name}.versions ORDER BY version DESC LIMIT 1") == [(newest, newest - 1)]
    assert acknowledged == list(range(1, len(acknowledged) + 1))
    assert [one.seq for one in (await stores[0].read("old")).batches] == acknowledged
    await stores[0].append(held[0], [batch(1)])
    assert older("append", text="behind it") == len(acknowledged) + 1
    older("release")
    assert older("claim", log="one-more") == 1
    assert (await stores[1].claim("old", "there")).epoch == 2
