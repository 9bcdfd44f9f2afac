"""Taking over from an owner that stays silent for its lease."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from warm_process import Popen

import lousho_cli
from lousho_cli.app.aborting import abort

OWNER = """
import asyncio, os, signal, sys
from lousho_cli.stores.file.store import FileStore
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user

async def own():
    store = FileStore(sys.argv[1])
    claim = await store.claim("s", "elsewhere", 400)
    begun = (r.Claimed("elsewhere"), r.Created("trip"), r.InputReceived("i", (user("Go"),)), r.RunStarted("i"), r.InputApplied("i"))
    await store.append(claim, (r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", begun),))
    print("owned", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

asyncio.run(own())
"""


async def test_now_takes_over_once_the_lease_is_up(tmp_path: Path) -> None:
    place = str(tmp_path / ".lousho")
    environ = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
    owner = Popen([sys.executable, "-c", OWNER, place], stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "owned\n"
        told: list[str] = []
        done = await abort(place, "s", told.append, now=True)
        assert (done.outcome, done.by) == ("aborted", "us")
        assert (done.taken_from or "").startswith(f"elsewhere, pid {owner.pid}, since ")
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        if owner.stdout is not None:
            owner.stdout.close()
