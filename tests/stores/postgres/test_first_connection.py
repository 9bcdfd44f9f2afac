"""The first connection meets a server that is about to end, or was just started: it is tried again, as any later one is."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from cutting_proxy import CuttingProxy

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
