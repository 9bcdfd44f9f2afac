"""A host over each store, and models that are told what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain.messages import Message
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore


@pytest.fixture(params=["memory", "file", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "file":
        yield FileStore(tmp_path / ".lousho")
    else:
        made = SqliteStore(tmp_path / "lousho.db")
        yield made
        made.close()


@pytest.fixture(params=["file", "sqlite"])
async def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A store that survives its process."""
    if request.param == "file":
        yield FileStore(tmp_path / ".lousho")
    else:
        made = SqliteStore(tmp_path / "lousho.db")
        yield made
        made.close()


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
