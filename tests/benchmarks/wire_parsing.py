"""What it costs to read a streamed answer of 2 MB, in units of ``json.loads`` of its events.

    python tests/benchmarks/wire_parsing.py [--rounds 15]

Each wire, once in events of a word and once in large ones, comes from memory in pieces of 16 KiB and goes the whole way
of a provider: events, deltas, the answer. Rounds are interleaved in one run, and minima of processor time compared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import runpy
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lousho_cli.domain.messages import Message
from lousho_cli.ports.provider import Answer, ModelRequest

KINDS = runpy.run_path(str(Path(__file__).parents[1] / "providers" / "contract" / "kinds.py"))["KINDS"]
SIZE, PIECE = 2_000_000, 16_384
WORDS = "Ein Wort und noch eines, dann “Zitate”, \\ Zeichen und 東京. ".split(" ")
SAYS = {"words": lambda k: f" {WORDS[k % len(WORDS)]}", "large": lambda k: " ".join(WORDS) * 60}
HELLO = ModelRequest(messages=(Message(role="user", content="hello"),))


class Memory:
    """A connection whose answer is here already."""

    status = 200
    headers: dict[str, str] = {}

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: Any) -> AsyncIterator[Memory]:
        yield self

    async def chunks(self, progress: Any) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def answer_of(kind: Any, says: Any) -> bytes:
    """About 2 MB of events, half text and half the arguments of a call."""
    sample = len(kind.stream(*(says(k) for k in range(20)))) - len(kind.stream())
    count = SIZE // 2 // (sample // 20)
    text = [says(k) for k in range(count)]
    piece = len(says(0)) + 2
    arguments = json.dumps({"text": "".join(text)}, ensure_ascii=False)
    stream: bytes = kind.stream(*text, calls=[("call_1", "write", arguments)], piece=piece)
    return stream


def bare(events: list[bytes]) -> float:
    begun = time.process_time()
    for event in events:
        json.loads(event)
    return time.process_time() - begun


async def ours(provider: Any, pieces: list[bytes]) -> float:
    provider._http = Memory(pieces)
    begun = time.process_time()
    async for event in provider.stream(HELLO):
        last = event
    took = time.process_time() - begun
    assert isinstance(last, Answer)
    return took


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    cases = {}
    for kind in KINDS:
        for name, says in SAYS.items():
            stream = answer_of(kind, says)
            events = [line[6:] for line in stream.split(b"\n") if line.startswith(b"data: {")]
            pieces = [stream[at : at + PIECE] for at in range(0, len(stream), PIECE)]
            cases[f"{kind.id}, {name}"] = (kind.provider("http://127.0.0.1:9"), pieces, events, len(stream))
    unit: dict[str, list[float]] = {name: [] for name in cases}
    took: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(options.rounds):
        for name, (provider, pieces, events, _size) in cases.items():
            unit[name].append(bare(events))
            took[name].append(asyncio.run(ours(provider, pieces)))
    figures = {
        name: {
            "events": len(events),
            "bytes": size,
            "json_loads_ms": round(min(unit[name]) * 1e3, 2),
            "ours_ms": round(min(took[name]) * 1e3, 2),
            "x_of_json_loads": round(min(took[name]) / min(unit[name]), 2),
        }
        for name, (_provider, _pieces, events, size) in cases.items()
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
