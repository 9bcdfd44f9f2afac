"""Power loss under a database: of what was never synced anything may be missing, but nothing that was told is."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from warm_process import Popen, run

from lousho_cli.domain import records as r
from lousho_cli.stores.sqlite.fsck import check
from lousho_cli.stores.sqlite.store import SqliteStore

AT = "2026-01-01T00:00:00.000Z"

APPENDS = """
import asyncio, os, sys
from lousho_cli.domain import records as r
from lousho_cli.stores.sqlite.store import SqliteStore

async def main(path):
    store = SqliteStore(path)
    claims = [await store.claim(name, "here") for name in ("trip", "other")]
    for seq in range(1, 40):
        for claim in claims[: 1 + seq % 2]:
            head = claim.head + 1
            durable = seq % 3 == 0
            batch = r.Batch(head, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("here"), r.Note("n", "x" * (seq * 331 % 3000))))
            await store.append(claim, (batch,), durable=durable)
            if seq % 7 == 0:
                await store.flush(claim)
            if durable or seq % 7 == 0:
                print(claim.log_id, head, os.stat(path + "-wal").st_size, flush=True)
    print("end", flush=True)
    await asyncio.sleep(60)

asyncio.run(main(sys.argv[1]))
"""


class Told(NamedTuple):
    """What a caller was told is durable, and how long the database's log was then."""

    session: str
    seq: int
    size: int


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[Path, list[Told]]:
    """A database with everything still in its log, as the process left it when it was killed."""
    crash = request.getfixturevalue("crash")
    place = tmp_path_factory.mktemp("power") / "lousho.db"
    process = Popen(
        [sys.executable, "-c", APPENDS, str(place)], env=crash.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = []
    for line in process.stdout:
        if line == "end\n":
            break
        session, seq, size = line.split()
        told.append(Told(session, int(seq), int(size)))
    process.send_signal(signal.SIGKILL)
    assert process.communicate()[1] == ""
    assert len(told) > 20
    return place, told


def lose(log: bytes, synced: int, chance: random.Random) -> bytes:
    """Zeros in random blocks of what was not synced, which may also be shorter."""
    data = bytearray(log)
    block, share = chance.choice([512, 4096, 8216]), chance.choice([0.05, 0.2, 0.5, 0.9])
    for begin in range(synced, len(data), block):
        if chance.random() < share:
            end = min(begin + block, len(data))
            data[begin:end] = bytes(end - begin)
    return bytes(data[: chance.randint(synced, len(data))] if chance.random() < 0.4 else data)


async def whole_logs(place: Path) -> dict[str, tuple[r.Batch, ...]]:
    store = SqliteStore(place)
    found = {name: (await store.read(name)).batches for name in ("trip", "other")}
    store.close()
    return found


async def test_what_was_told_stands_and_what_was_lost_leaves_no_hole(tmp_path: Path, killed: tuple[Path, list[Told]]) -> None:
    source, told = killed
    log = Path(f"{source}-wal").read_bytes()
    copy = tmp_path / "whole.db"
    shutil.copyfile(source, copy)
    Path(f"{copy}-wal").write_bytes(log)
    whole = await whole_logs(copy)
    shorter = 0
    for number, last in enumerate(told):
        for seed in range(4):
            chance = random.Random(seed * 1000 + number)
            place = tmp_path / f"{number}-{seed}.db"
            shutil.copyfile(source, place)
            Path(f"{place}-wal").write_bytes(lose(log, last.size, chance))
            store = SqliteStore(place)
            for name, batches in whole.items():
                acknowledged = max((one.seq for one in told[: number + 1] if one.session == name), default=0)
                read = await store.read(name)
                assert not read.holes
                assert read.batches == batches[: len(read.batches)]
                assert read.head >= acknowledged
                shorter += read.head < len(batches)
            assert [finding for finding in check(store) if finding.serious] == []
            claim = await store.claim("trip", "next")
            head = (await store.read("trip")).head
            await store.append(claim, [r.Batch(head + 1, claim.epoch, AT, (r.Claimed("next"), r.Note("n", "goes on")))])
            store.close()
            place.unlink()
    assert shorter > 20


SYNCS = """
import asyncio, os, sys
from lousho_cli.domain import records as r
from lousho_cli.stores.sqlite.store import SqliteStore

async def main(path):
    store = SqliteStore(path)
    claim = await store.claim("trip", "here")
    for seq in range(1, 31):
        durable = seq % 3 == 0
        batch = r.Batch(seq, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("here"), r.Note("n", str(seq))))
        await store.append(claim, (batch,), durable=durable)
        if seq % 5 == 0:
            await store.flush(claim)
        os.writev(1, [b"durable " if durable or seq % 5 == 0 else b"written ", str(seq).encode()])

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("thread", [False, True])
def test_what_is_told_to_be_durable_was_synced_before_and_what_is_not_was_not(
    tmp_path: Path, crash: Any, points: Any, thread: bool
) -> None:
    if not points.can_trace():
        pytest.skip("strace is not there, or may not trace")
    trace = tmp_path / "trace"
    script = SYNCS.replace("    claim =", "    store.writer.average = 1.0\n    claim =") if thread else SYNCS
    words = ["strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=fdatasync,writev,pwrite64", sys.executable, "-c", script]
    done = run([*words, str(tmp_path / "lousho.db")], env=crash.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written, synced, told = 0, 0, []
    for line in trace.read_text().splitlines():
        if "pwrite64(" in line and "-wal>" in line:
            written += 1
        elif "fdatasync(" in line and "-wal>" in line:
            synced = written
        elif "writev(1" in line:
            told.append(("durable" in line, written > 0, synced == written))
    assert len(told) == 30
    for number, (durable, there, all_synced) in enumerate(told, 1):
        assert there
        assert all_synced == durable, number
