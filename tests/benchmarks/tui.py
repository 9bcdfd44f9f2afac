"""How soon ``lousho tui`` shows sessions, with ten of them and with ten thousand, and how long it then looks away.

    python tests/benchmarks/tui.py [--rounds 7] [--sessions 10000]

First frame: until rows stand on the screen, from the start of the program, when all it needs is loaded, and from the start of the
process. Rounds are interleaved, each in a process of its own, and minima compared. Slowest key: the longest that one key, of
those that go through, filter, sort and group the whole list, kept the loop from anything else, in time on a processor.
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter()

import argparse  # noqa: E402 - loading is part of what is measured
import asyncio  # noqa: E402
import json  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

from textual.pilot import Pilot  # noqa: E402

from lousho_cli.core.heads import head_of  # noqa: E402
from lousho_cli.domain import records as r  # noqa: E402
from lousho_cli.domain.messages import Message, user  # noqa: E402
from lousho_cli.ports.sessions import read_session  # noqa: E402
from lousho_cli.stores.file.store import FileStore  # noqa: E402
from lousho_cli.tui.collecting import only_what_is_new  # noqa: E402
from lousho_cli.tui.start import program  # noqa: E402
from lousho_cli.tui.widgets.session_list import SessionList  # noqa: E402

AT = "2026-01-01T00:00:00.000Z"
FEW = 10


async def fill(folder: Path, sessions: int) -> None:
    """Writes one finished session with its head, and copies it: no file of a session repeats its id."""
    store = FileStore(folder)
    claim = await store.claim("s-0", "bench")
    begin = (r.Claimed("bench"), r.Created("bench"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
    end = (r.Turn(Message("assistant", "done")), r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed"))
    await store.append(claim, (r.Batch(1, claim.epoch, AT, begin), r.Batch(2, claim.epoch, AT, end)))
    await store.save_head(claim, head_of(await read_session(store, "s-0")))
    await store.release(claim)
    for number in range(1, sessions):
        shutil.copytree(folder / "sessions" / "s-0", folder / "sessions" / f"s-{number}")


async def look(folder: Path, sessions: int) -> dict[str, float | str]:
    """One start: the first frame and the whole list, in milliseconds; then the slowest key, as the person has the program."""
    found: dict[str, float | str] = {}
    began = time.perf_counter()
    app = program(str(folder))

    async def drive(pilot: Pilot[object]) -> None:
        while not any(rows.current for rows in app.screen.query(SessionList)):
            await asyncio.sleep(0.001)
        found["first_frame_ms"] = (time.perf_counter() - began) * 1000
        found["from_process_ms"] = (time.perf_counter() - BEGUN) * 1000
        while app.sessions is None or len(app.sessions.rows) < sessions:
            await asyncio.sleep(0.005)
        found["all_read_ms"] = (time.perf_counter() - began) * 1000
        await asyncio.sleep(1)  # what is shown beside the list is read too, and drawn
        for key in ("down", "pagedown", "end", "s", "g", "s", "g", "home", "f", "s", "9"):
            lost = await _lost_to(pilot, key)
            if lost > float(found.get("slowest_key_ms", 0)):
                found.update({"slowest_key_ms": lost, "slowest_key": key})
        app.exit()

    with only_what_is_new():
        await app.run_async(headless=True, size=(120, 36), auto_pilot=drive)
    return found


async def _lost_to(pilot: Pilot[object], key: str) -> float:
    """For how long at most, in milliseconds of this thread on a processor, the loop did one thing while a key was dealt with."""
    worst = 0.0
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        nonlocal worst
        before = time.thread_time()
        run(handle)
        worst = max(worst, time.thread_time() - before)

    setattr(asyncio.Handle, "_run", timed)  # noqa: B010 - a method, replaced for a while
    try:
        await pilot.press(key)
        await asyncio.sleep(0.05)
    finally:
        setattr(asyncio.Handle, "_run", run)  # noqa: B010
    return worst * 1000


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--one", metavar="FOLDER", help="one start, for this script itself")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(look(Path(options.one), options.sessions))))
        return
    with tempfile.TemporaryDirectory() as place:
        stores = {FEW: Path(place) / "few", options.sessions: Path(place) / "many"}
        for count, folder in stores.items():
            asyncio.run(fill(folder, count))
        found: dict[int, list[dict[str, float | str]]] = {count: [] for count in stores}
        for _ in range(options.rounds):
            for count, folder in stores.items():
                words = [sys.executable, __file__, "--one", str(folder), "--sessions", str(count)]
                found[count].append(json.loads(subprocess.run(words, capture_output=True, check=True).stdout))
    few, many = (
        {what: min(float(one[what]) for one in found[count]) for what in ("first_frame_ms", "from_process_ms")} for count in stores
    )
    last = min(found[options.sessions], key=lambda one: float(one["slowest_key_ms"]))
    print(
        json.dumps(
            {
                "sessions": options.sessions,
                **{
                    name: {"ms": round(many[what], 1), "of_ten_ms": round(few[what], 1), "ratio": round(many[what] / few[what], 2)}
                    for name, what in (("first_frame", "first_frame_ms"), ("first_frame_from_process_start", "from_process_ms"))
                },
                "all_read_ms": round(min(float(one["all_read_ms"]) for one in found[options.sessions]), 1),
                "slowest_key": last["slowest_key"],
                "slowest_key_ms": round(float(last["slowest_key_ms"]), 1),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
