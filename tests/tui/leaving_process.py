"""Drives a session as another process does: says when it has begun, writes what it is told to, is killed when the test likes.

python -m tests.tui.leaving_process STORE: begins session ``live``; each line on stdin then is one more thing it does.
"""

from __future__ import annotations

import asyncio
import sys

from lousho_cli.domain import records as r
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore
from tests.tui.sample import at, begins, call, ends, turn


async def main(where: str) -> None:
    store = SqliteStore(where.removeprefix("sqlite:")) if where.startswith("sqlite:") else FileStore(where)
    claim = await store.claim("live", "elsewhere")
    steps = {
        "begin": [r.Claimed("elsewhere"), *begins("live", "Tell me of the coast")[1]],
        "turn": turn("Let me look.", 1, call("weather", city="Lisbon")),
        "start": [r.ToolStarted("call_weather")],
        "result": [r.ToolFinished("call_weather", '"sun"'), r.Mark(1)],
        "write": [r.Partial("Take the coast, ")],
        "more": [r.Partial("then the cliff path.")],
        "end": ends("Take the coast, then the cliff path.", 2),
    }
    seq = 0
    for asked in map(str.strip, sys.stdin):
        for name in asked.split():
            seq += 1
            await store.append(claim, [r.Batch(seq, claim.epoch, at(seq), tuple(steps[name]))])
        print(asked, flush=True)
    await store.release(claim)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
