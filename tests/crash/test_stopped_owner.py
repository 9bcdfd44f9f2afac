"""An owner is stopped at one system call, another one takes the log over, and the first one goes on."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from warm_process import Popen

from lousho_cli.domain import records as r
from lousho_cli.errors import SessionBusyError
from lousho_cli.stores.file.store import FileStore

SCRIPT = Path(__file__).with_name("stopped_process.py")
AT = "2026-01-01T00:00:00.000Z"

CALLS = {"write": 8, "fdatasync": 4, "newfstatat": 20, "link": 1, "unlink": 3, "openat": 12, "flock": 2, "pwrite64": 1, "getdents64": 6}
"""System calls on the files of the session, and how many of each an owner makes at most."""

SAMPLE = [("link", 1), ("unlink", 1), ("write", 2), ("write", 4), ("fdatasync", 2), ("newfstatat", 5), ("newfstatat", 8)]
EVERY = [(call, number) for call, most in CALLS.items() for number in range(1, most + 1)]

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed, so nothing can be stopped at a call")


async def take_over(store: FileStore) -> list[str]:
    """Claims as soon as that is allowed and appends two batches; gives their texts."""
    async with asyncio.timeout(30):
        while True:
            try:
                claim = await store.claim("trip", "second", 5_000)
                break
            except SessionBusyError:
                await asyncio.sleep(0.005)
    head = (await store.read("trip")).head
    texts = [f"second-{claim.epoch}-1", f"second-{claim.epoch}-2"]
    for number, text in enumerate(texts, 1):
        await store.append(claim, (r.Batch(head + number, claim.epoch, AT, (r.Note("w", text),)),))
    await store.release(claim)
    return texts


async def check_point(place: Path, call: str, number: int, environment: dict[str, str]) -> bool:
    """Runs one point; False when the owner came to its end without meeting it."""
    store = FileStore(place)
    first = await store.claim("trip", "first")
    await store.append(first, (r.Batch(1, first.epoch, AT, (r.Note("w", "first"),)),))
    await store.release(first)
    folder = place / "sessions/trip"
    paths = [folder, *(folder / f"owner.{epoch}.json" for epoch in (1, 2, 3)), folder / "log.jsonl"]
    trace = place / "trace"
    process = Popen(
        ["strace", "-o", str(trace), *(f"-P{path}" for path in paths), f"-einject={call}:signal=SIGSTOP:when={number}"]
        + [sys.executable, str(SCRIPT), str(place)],
        env=environment,
        stdout=subprocess.PIPE,
    )
    met = False
    try:
        async with asyncio.timeout(20):
            while process.poll() is None and not (
                met := trace.exists() and "stopped by SIGSTOP" in trace.read_text().partition("SIGSTOP {")[2]
            ):
                await asyncio.sleep(0.005)
        texts = await take_over(store)
        process.send_signal(signal.SIGCONT)
        said = (await asyncio.to_thread(process.communicate))[0].decode().split()
    finally:
        process.kill()
        process.wait()
    found = await store.read("trip")
    assert not found.holes
    epochs = [batch.epoch for batch in found.batches]
    assert epochs == sorted(epochs)
    standing = [record.text for batch in found.batches for record in batch.records if isinstance(record, r.Note)]
    acknowledged = [text for text in said if text.startswith("stopped-")]
    assert {"first", *texts, *acknowledged} <= set(standing), (call, number, said, standing)
    return met


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize(("call", "number"), SAMPLE)
async def test_a_stop_at_this_call_loses_nothing(tmp_path: Path, child_environment: dict[str, str], call: str, number: int) -> None:
    """A traced process starts slowly; the calls chosen are those around the claim and the append."""
    assert await check_point(tmp_path / ".lousho", call, number, child_environment)


@needs_strace
@pytest.mark.sweep
@pytest.mark.parametrize(("call", "number"), EVERY)
async def test_a_stop_at_any_call_loses_nothing(tmp_path: Path, child_environment: dict[str, str], call: str, number: int) -> None:
    await check_point(tmp_path / ".lousho", call, number, child_environment)
