"""What the sessions do: nothing but leave a line when it starts and one when it ends, for a witness whom no log can deceive.

A line is added by one write to a file that is open for appending, so lines of many processes do not mix, and a killed process
leaves whole ones. See ``witness.py`` for what stands in them.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from typing import Any
from zlib import crc32

FILE = os.environ["CHAOS_WITNESS"]
PACE = float(os.environ["CHAOS_PACE"])
HOLD = os.environ["CHAOS_HOLD"]


def _say(word: str, ctx: Any, nonce: str) -> None:
    line = f"{word} {ctx.session_id} {ctx.tool_call_id} {ctx.context.run.epoch} {os.getpid()} {nonce} {time.time():.6f}\n"
    file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def _takes(ctx: Any) -> float:
    """Seconds: most calls are short, and some outlast a lease. The same call takes the same time again."""
    chance = crc32(f"{ctx.session_id} {ctx.tool_call_id}".encode()) % 1000 / 1000
    return PACE * (0.1 + chance if chance < 0.7 else chance * 4)


async def work(ctx) -> dict[str, str]:  # type: ignore[no-untyped-def]
    """Takes a while."""
    nonce = secrets.token_hex(6)
    _say("start", ctx, nonce)
    await asyncio.sleep(_takes(ctx))
    while os.path.exists(HOLD):
        await asyncio.sleep(0.01)
    _say("end", ctx, nonce)
    return {"nonce": nonce}


def grind(ctx) -> dict[str, str]:  # type: ignore[no-untyped-def]
    """Takes a while, on a thread."""
    nonce = secrets.token_hex(6)
    _say("start", ctx, nonce)
    time.sleep(_takes(ctx))
    _say("end", ctx, nonce)
    return {"nonce": nonce}


async def book(ctx) -> dict[str, str]:  # type: ignore[no-untyped-def]
    """Takes a while, once a person has approved it."""
    return await work(ctx)


async def pay(ctx) -> dict[str, str]:  # type: ignore[no-untyped-def]
    """Takes a while, and must never run twice."""
    return await work(ctx)
