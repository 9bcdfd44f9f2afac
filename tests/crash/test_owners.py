"""Four owners fight for one log while they are stopped, woken and killed at random: nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from warm_process import Popen

from lousho_cli.domain import records as r
from lousho_cli.stores.file.fsck import check
from lousho_cli.stores.file.scan import scan
from lousho_cli.stores.file.store import FileStore

SECONDS = float(os.environ.get("LOUSHO_OWNERS_SECONDS", "20"))
SCRIPT = Path(__file__).with_name("owner_process.py")


@pytest.mark.slow
async def test_nothing_acknowledged_is_lost_and_owners_never_interleave(tmp_path: Path, child_environment: dict[str, str]) -> None:
    """Takes 20 seconds because takeovers are rare events; LOUSHO_OWNERS_SECONDS makes it longer."""
    place, notes = tmp_path / ".lousho", tmp_path / "acknowledged"

    def start() -> Popen:
        return Popen([sys.executable, str(SCRIPT), str(place), str(notes)], env=child_environment)

    owners = [start() for _ in range(4)]
    stops = kills = 0
    ends = time.monotonic() + SECONDS
    try:
        while time.monotonic() < ends:
            chosen = random.randrange(4)
            if random.random() < 0.15:
                owners[chosen].kill()
                owners[chosen].wait()
                owners[chosen] = start()
                kills += 1
            else:
                owners[chosen].send_signal(signal.SIGSTOP)
                stops += 1
                time.sleep(random.choice((0.01, 0.1, 0.35)))  # shorter and longer than the lease: this is the load, not a wait
                owners[chosen].send_signal(signal.SIGCONT)
            time.sleep(random.random() * 0.05)
            assert all(owner.poll() is None for owner in owners), "an owner ended by itself"
    finally:
        for owner in owners:
            owner.kill()
            owner.wait()

    found = scan((place / "sessions" / "shared" / "log.jsonl").read_bytes())
    texts = [record.text for batch in found.batches for record in batch.records if isinstance(record, r.Note)]
    acknowledged = [line for line in notes.read_text().split("\n")[:-1] if line]
    assert len(set(texts)) == len(texts)
    assert set(acknowledged) <= set(texts), sorted(set(acknowledged) - set(texts))[:5]
    assert [batch.seq for batch in found.batches] == list(range(1, found.head + 1))
    epochs = [batch.epoch for batch in found.batches]
    assert epochs == sorted(epochs)
    assert not found.holes
    assert not [finding for finding in await check(FileStore(place)) if finding.serious]
    assert len(set(epochs)) > SECONDS / 2, "too few takeovers to say anything"
    print(f"{len(acknowledged)} acknowledged, {len(set(epochs))} epochs, {stops} stops, {kills} kills, {len(found.voids)} void lines")
