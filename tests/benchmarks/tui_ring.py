"""How long a key press holds up ``lousho tui`` while a person moves through a ring: python tests/benchmarks/tui_ring.py

A session of 50 kept checkpoints and 5,000 messages is opened, its ring walked through, its tabs opened, its transcript
scrolled, folded and searched. Each key is pressed once what the one before began is done. A timer on the same event loop
fires all the time; the longest it did not come round during a key is what a person would feel as a stutter, 50 ms at most.
Judged is the CPU time of the loop's own thread, so that what else the machine does counts for nothing; the time by the clock,
which has the reading thread's share of the interpreter in it, stands beside it and means something on a machine at rest.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # run as a script, it finds the tests' sample sessions

from lousho_cli.tui.collecting import only_what_is_new
from lousho_cli.tui.program import Lousho
from lousho_cli.tui.reading import Reader
from tests.tui.sample import NOW
from tests.tui.voyage import long_session

LIMIT_MS = 50.0
_TICK_S = 0.001

KEYS = (
    *(["down"] * 12),
    *(["up"] * 5),
    "end",
    "home",
    "enter",
    *(["up"] * 5),
    *(["pageup"] * 5),
    "home",
    *(["pagedown"] * 5),
    "end",
    "{",
    "{",
    "enter",
    "enter",
    "z",
    "z",
    "2",
    "3",
    "4",
    "enter",
    "5",
    "6",
    "1",
    "m",
    "m",
    "/",
    *"part-24",
    "enter",
    "n",
    "N",
    "escape",
    "escape",
    "down",
    "down",
)


class Late:
    """The longest that the event loop did not come round, since it was asked last."""

    def __init__(self) -> None:
        self._worst = (0.0, 0.0)

    async def watch(self) -> None:
        while True:
            busy, clock = time.thread_time(), time.perf_counter()
            await asyncio.sleep(_TICK_S)
            busy, clock = time.thread_time() - busy, time.perf_counter() - clock - _TICK_S
            self._worst = (max(self._worst[0], busy), max(self._worst[1], clock))

    def taken(self) -> tuple[float, float]:
        """In milliseconds, of CPU and by the clock; it begins anew."""
        busy, clock = self._worst
        self._worst = (0.0, 0.0)
        return busy * 1000, clock * 1000


async def measure(store: Path, size: tuple[int, int]) -> dict[str, tuple[float, float]]:
    """The longest hold-up of each key, in milliseconds: CPU, and by the clock. The opening is not a key."""
    app = Lousho(Reader(str(store)), "long", now=lambda: NOW, follow=False)
    app.animation_level = "none"
    found: dict[str, tuple[float, float]] = {}
    late = Late()
    async with app.run_test(size=size) as pilot:
        watching = asyncio.create_task(late.watch())

        async def rest() -> None:
            for _ in range(2):
                await app.workers.wait_for_complete()
                await pilot.pause()

        await rest()
        for key in KEYS:
            late.taken()
            await pilot.press({"{": "left_curly_bracket", "/": "slash", "-": "minus"}.get(key, key))
            await rest()
            found[key] = max(found.get(key, (0.0, 0.0)), late.taken())
        watching.cancel()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--checkpoints", type=int, default=50)
    options = parser.parse_args()
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        store = asyncio.run(long_session(Path(folder), options.messages, options.checkpoints))
        for size in ((80, 24), (160, 48)):
            with only_what_is_new():  # as the command has it
                found = asyncio.run(measure(store, size))
            worst = max(found, key=found.__getitem__)
            slow += found[worst][0] > LIMIT_MS
            print(f"{size[0]}x{size[1]}: slowest key {worst}: {found[worst][0]:.1f} ms (at most {LIMIT_MS:.0f})")
            for key, (busy, clock) in sorted(found.items(), key=lambda one: one[1], reverse=True)[:8]:
                print(f"    {key:<12}{busy:6.1f} ms    {clock:6.1f} ms by the clock")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
