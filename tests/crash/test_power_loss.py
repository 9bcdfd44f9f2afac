"""Power loss: of what was never synced anything may be missing or zero, but nothing that was told is."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.scan import scan
from lousho_cli.stores.file.store import FileStore


class Unsynced(NamedTuple):
    """A job killed with lines in its log that nobody was told of, its bytes, and the offset behind the last line that was told."""

    job: Any
    data: bytes
    told: int
    seq: int


@pytest.fixture(scope="session")
def unsynced(running: Any, points: Any) -> list[Unsynced]:
    """A run killed right before each of its syncs, so with as much unsynced as there ever is."""
    found = []
    for call in ("fsync", "fdatasync"):
        for number in running.numbers(call):
            job, ran = running.killed(call, number)
            if ran.code != points.KILLED or not job.log().exists():
                continue
            data = job.log().read_bytes()
            seq = max((int(line[1]) for line in ran.told if line[0] == "saved"), default=0)
            whole = scan(data)
            told = max((end for batch, end in zip(whole.batches, whole.ends, strict=True) if batch.seq <= seq), default=0)
            if told < len(data):
                found.append(Unsynced(job, data, told, seq))
    return found


def lose(state: Unsynced, chance: random.Random) -> bytes:
    """Zeros in random blocks of the unsynced tail, which may also be shorter."""
    data = bytearray(state.data)
    block, share = chance.choice([16, 64, 256]), chance.choice([0.05, 0.2, 0.5, 0.9])
    for begin in range(state.told, len(data), block):
        if chance.random() < share:
            end = min(begin + block, len(data))
            data[begin:end] = bytes(end - begin)
    return bytes(data[: chance.randint(state.told, len(data))] if chance.random() < 0.3 else data)


async def test_what_was_told_stands_and_what_was_lost_is_no_damage(tmp_path: Path, unsynced: list[Unsynced]) -> None:
    assert len(unsynced) > 4
    assert any(state.data.count(b"\n", state.told) > 1 for state in unsynced), "nowhere are two lines unsynced"
    log = tmp_path / ".lousho/sessions/trip/log.jsonl"
    log.parent.mkdir(parents=True)
    for state in unsynced:
        whole = scan(state.data).batches
        for seed in range(60):
            log.write_bytes(lose(state, random.Random(seed)))
            store = FileStore(tmp_path / ".lousho")
            found = await store.read("trip")
            assert not found.holes, seed
            assert found.batches == tuple(whole[: len(found.batches)])
            assert found.head >= state.seq
            assert state_from(await read_session(store, "trip")) == state_from(fold(found.batches))


def after_power_loss(folder: Path, state: Unsynced, seed: int, crash: Any, expected: list[Any]) -> None:
    shutil.copytree(state.job.folder, folder)
    job = crash.Job(folder)
    job.log().write_bytes(lose(state, random.Random(seed)))
    before = job.batches()
    again = job.process("end")
    assert again.code == 0, again
    crash.look(job, again.told)
    assert job.batches()[: len(before)] == before
    assert crash.transcript(crash.fold(job.batches())) == expected


def test_a_run_goes_on_after_power_loss(tmp_path: Path, unsynced: list[Unsynced], crash: Any, points: Any, expected: list[Any]) -> None:
    work = [(state, seed) for state in unsynced for seed in range(3)]
    points.at_once(lambda at: after_power_loss(tmp_path / str(at[0]), at[1][0], at[1][1], crash, expected), enumerate(work))


@pytest.mark.sweep
def test_a_run_goes_on_after_any_power_loss(tmp_path: Path, unsynced: list[Unsynced], crash: Any, points: Any, expected: list[Any]) -> None:
    work = [(state, seed) for state in unsynced for seed in range(3, 60)]
    points.at_once(lambda at: after_power_loss(tmp_path / str(at[0]), at[1][0], at[1][1], crash, expected), enumerate(work))
