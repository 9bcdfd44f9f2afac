"""The first connection meets a server that is about to end, or is only being started: it is tried again, as any later one is."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from cutting_proxy import CuttingProxy

from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres import database
from lousho_cli.stores.postgres.store import PostgresStore

FATAL = b"SFATAL\0VFATAL\0C57P02\0Mterminating connection due to unexpected postmaster exit\0\0"
RUDE = {"an error before TLS": b"E", "its end": b"E" + struct.pack("!i", len(FATAL) + 4) + FATAL, "nothing": b""}


class Rude(CuttingProxy):
    """Gives the first who comes an answer of its own, and leaves him there."""

    answer = b""
    refused = 0

    def _accept(self) -> None:
        with suppress(OSError):
            client, _ = self._listener.accept()
            client.recv(1000)
            client.sendall(self.answer)
            if not self.answer:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            client.close()
            self.refused += 1
        super()._accept()


@pytest.fixture
def rude(url: str) -> Iterator[Callable[[bytes], Rude]]:
    made: list[Rude] = []

    def make(answer: bytes) -> Rude:
        one = type("Answers", (Rude,), {"answer": answer})
        made.append(one(int(url.partition("127.0.0.1:")[2].partition("/")[0])))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("how", RUDE)
async def test_it_is_tried_again(how: str, url: str, rude: Any, opened: Callable[..., PostgresStore]) -> None:
    proxy = rude(RUDE[how])
    store = opened(f"{proxy.url(url)}&sslmode={'prefer' if how == 'an error before TLS' else 'disable'}&gssencmode=disable")
    assert (await store.heads()).heads == ()
    assert proxy.refused == 1


@pytest.fixture
def not_begun(url: str) -> Iterator[CuttingProxy]:
    """The way to a server that was not started yet."""
    proxy = CuttingProxy(int(url.partition("127.0.0.1:")[2].partition("/")[0]), begins=False)
    yield proxy
    proxy.close()


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What went wrong where nobody was there, each time."""
    met: list[Exception] = []
    real = database.nobody_there
    monkeypatch.setattr(database, "nobody_there", lambda error: not met.append(error) and real(error))
    return met


async def test_a_server_that_comes_in_a_moment_is_waited_for(
    url: str, not_begun: CuttingProxy, opened: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch, tried: list[Exception]
) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 60.0)
    store = opened(not_begun.url(url))
    heads = asyncio.create_task(store.heads())
    async with asyncio.timeout(30):
        while not tried:
            await asyncio.sleep(0.01)
    not_begun.begin()
    assert (await heads).heads == ()


async def test_one_that_does_not_is_said_to_be_away(
    url: str, not_begun: CuttingProxy, opened: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 0.0)
    with pytest.raises(StorageError, match="Connection refused") as away:
        await opened(not_begun.url(url)).heads()
    assert away.value.retryable
    with pytest.raises(StorageError, match="failed to resolve") as nowhere:
        await opened("postgresql://u@nowhere.invalid/x").heads()
    assert nowhere.value.retryable, "the network may not be up yet"


async def test_one_that_kept_us_waiting_for_long_is_not_tried_again(
    url: str, not_begun: CuttingProxy, opened: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch, tried: list[Exception]
) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 1e-9)  # less than the try itself takes, as of a firewall that says nothing
    with pytest.raises(StorageError, match="Connection refused"):
        await opened(not_begun.url(url)).heads()
    assert len(tried) == 1


async def test_a_server_that_will_not_have_us_is_not_waited_for(url: str, opened: Callable[..., PostgresStore]) -> None:
    with pytest.raises(StorageError, match="does not exist") as refused:
        await opened(url.replace("/postgres?", "/no-such-database?")).heads()
    assert not refused.value.retryable
