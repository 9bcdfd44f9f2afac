"""A process killed at any moment of a save leaves the save before it, or this one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from warm_process import Popen

from lousho_cli.stores.file.fsck import check
from lousho_cli.stores.file.store import FileStore

KILLS = int(os.environ.get("LOUSHO_KILLS", "15"))
SCRIPT = Path(__file__).with_name("saving_process.py")


@pytest.mark.slow
async def test_case_144_a_large_save_is_whole_or_not_there(tmp_path: Path, child_environment: dict[str, str]) -> None:
    """Each kill needs a process of its own; LOUSHO_KILLS makes it more."""
    place = tmp_path / ".lousho"
    for _ in range(KILLS):
        child = Popen([sys.executable, str(SCRIPT), str(place)], env=child_environment, stdout=subprocess.PIPE)
        assert child.stdout is not None
        acknowledged = int(child.stdout.readline())
        try:
            child.wait(random.random() * 0.12)
        except subprocess.TimeoutExpired:
            child.kill()
        rest = child.communicate()[0].split(b"\n")[:-1]
        acknowledged = int(rest[-1]) if rest else acknowledged
        store = FileStore(place)
        found = await store.read("trip")
        assert acknowledged <= found.head <= acknowledged + 1
        assert not found.holes
        snapshot = await store.load_snapshot("trip")
        assert snapshot is None or (snapshot.business_state == "y" * 5_000_000 and snapshot.seq <= found.head)
        head = await store.head("trip")
        assert head is not None
        assert head.seq == found.head
        # What was being written aside, until the next claim; and a kill may tear a write of 5 MB, which is then void for good.
        assert {finding.kind for finding in await check(store)} <= {"stray", "torn"}
        await store.release(await store.claim("trip", "here"))
        assert {finding.kind for finding in await check(store)} <= {"torn"}
        if (place / "sessions/trip/log.jsonl").stat().st_size > 20_000_000:
            await store.delete("trip")
