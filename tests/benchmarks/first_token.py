"""How much later the first word comes than over a bare ``httpx`` stream, in milliseconds.

    python tests/benchmarks/first_token.py [--rounds 200]

A server in a process of its own answers at once and then holds the rest back. Both ask it over a connection that is
open already; pairs are interleaved, the figures are the medians of both and of their differences. ``long`` has a
transcript of 200 messages and 400 KB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import runpy
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from lousho_cli.domain.messages import Message
from lousho_cli.ports.provider import ModelRequest, TextDelta

KINDS = runpy.run_path(str(Path(__file__).parents[1] / "providers" / "contract" / "kinds.py"))["KINDS"]
SHORT = (Message("user", "hello"),)
LONG = tuple(Message("assistant" if k % 2 else "user", "word " * 400) for k in range(199)) + SHORT


async def serve() -> None:
    """Answers each request with the beginning of an answer, and 2 ms later with its end."""
    streams = {kind.path: (b"".join(kind.written("one ", "two")[:-2]), b"".join(kind.written("one ", "two")[-2:])) for kind in KINDS}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                for piece in streams[head.split(" ")[1]]:
                    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.002)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def bare(client: httpx.AsyncClient, url: str, body: bytes) -> float:
    """Seconds until the first piece of the answer is here."""
    begun = time.perf_counter()
    async with client.stream("POST", url, content=body, headers={"content-type": "application/json"}) as response:
        took = 0.0
        async for _ in response.aiter_bytes():
            took = took or time.perf_counter() - begun
    return took


async def ours(provider: Any, request: ModelRequest) -> float:
    """Seconds until the first word is here."""
    begun, took = time.perf_counter(), 0.0
    async for event in provider.stream(request):
        if isinstance(event, TextDelta):
            took = took or time.perf_counter() - begun
    return took


async def measure(root: str, rounds: int) -> dict[str, Any]:
    figures = {}
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        for kind in KINDS:
            provider = kind.provider(root)
            for name, messages in (("short", SHORT), ("long", LONG)):
                request = ModelRequest(messages=messages)
                body = provider._wire.encode(request, kind.model)
                pairs = []
                for k in range(rounds + 5):
                    pair = (await bare(client, root + kind.path, body), await ours(provider, request))
                    if k >= 5:  # the first ones open the connections
                        pairs.append(pair)
                figures[f"{kind.id}, {name}"] = {
                    "bare_ms": round(statistics.median(one for one, _ in pairs) * 1e3, 2),
                    "ours_ms": round(statistics.median(two for _, two in pairs) * 1e3, 2),
                    "added_ms": round(statistics.median(two - one for one, two in pairs) * 1e3, 2),
                }
            await provider.aclose()
    return figures


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        print(json.dumps(asyncio.run(measure(f"http://127.0.0.1:{port}", options.rounds)), indent=1))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
