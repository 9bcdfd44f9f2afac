"""A host over each store, and models that are told what to do.

``LOUSHO_HOST_STORES=postgres pytest tests/host`` runs on a real PostgreSQL what else runs on the stores of one machine; by hand, as that
costs minutes, and CI asks PostgreSQL the same in the contracts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pg_server
import pytest

from lousho_cli.domain.messages import Message
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore

STORES = os.environ.get("LOUSHO_HOST_STORES", "memory,file,sqlite").split(",")


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield MemoryStore()
    else:
        made = _lasting(request.param, tmp_path)
        yield made
        if not isinstance(made, FileStore):
            made.close()


@pytest.fixture(params=[name for name in STORES if name != "memory"])
async def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A store that survives its process."""
    made = _lasting(request.param, tmp_path)
    yield made
    if not isinstance(made, FileStore):
        made.close()


def _lasting(name: str, folder: Path) -> Any:
    if name == "file":
        return FileStore(folder / ".lousho")
    if name == "sqlite":
        return SqliteStore(folder / "lousho.db")
    from lousho_cli.stores.postgres.store import PostgresStore

    return PostgresStore(pg_server.place_url(folder))


@pytest.fixture
async def host(store: Any) -> AsyncIterator[HarnessHost]:
    made = create_harness_host({"log": store})
    yield made
    await made.close()


class Gated:
    """A model that says when it is asked, and answers once it is let go."""

    name, model = "gated", "gated"

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[ModelRequest] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        self.asked.append(request)
        self.begun.set()
        await self.go.wait()
        yield Answer(Message(role="assistant", content=self._answers.pop(0)))


@pytest.fixture
def gated() -> type[Gated]:
    return Gated
