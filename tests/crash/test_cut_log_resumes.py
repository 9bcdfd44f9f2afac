"""A real log cut at any byte of its last 4 KiB opens to a valid earlier state, and goes on to the same end."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.core.transcript import check
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.fsck import check as fsck
from lousho_cli.stores.file.scan import scan
from lousho_cli.stores.file.store import FileStore

TAIL = 4096


async def test_a_log_cut_at_any_byte_opens_to_what_stood_before_it(tmp_path: Path, uninterrupted: Any) -> None:
    shutil.copytree(uninterrupted.folder, tmp_path, dirs_exist_ok=True)
    log = tmp_path / ".lousho/sessions/trip/log.jsonl"
    whole = scan(log.read_bytes())
    states = [state_from(fold(whole.batches[:count])) for count in range(len(whole.batches) + 1)]
    assert whole.size > TAIL, "the log of the victim became shorter than what is cut"
    for length in range(whole.size, whole.size - TAIL - 1, -1):
        os.truncate(log, length)
        standing = sum(end <= length for end in whole.ends)
        store = FileStore(tmp_path / ".lousho")
        found = await store.read("trip")
        assert found.batches == tuple(whole.batches[:standing]), f"cut at {length}"
        assert not found.holes
        session = await read_session(store, "trip")
        assert state_from(session) == states[standing]
        assert check(session.messages, open_tail=True) is None
        assert not [finding for finding in await fsck(store) if finding.serious and standing]
        if standing:
            head = await store.head("trip")
            assert head is not None
            assert (head.seq, head.status, head.waits_for) == (session.seq, session.status, head_of(session).waits_for)


def goes_on(job: Any, crash: Any, expected: list[Any]) -> None:
    """Goes on with a log that was cut, and compares."""
    evidence = crash.look(job, ())
    again = job.process("end")
    assert again.code == 0, again
    crash.look(job, again.told)
    batches = job.batches()
    assert crash.transcript(crash.fold(batches)) == expected
    crash.nothing_again(evidence, job.done())


def cut(folder: Path, length: int, uninterrupted: Any, crash: Any) -> Any:
    shutil.copytree(uninterrupted.folder, folder)
    job = crash.Job(folder)
    os.truncate(job.log(), length)
    return job


def sample(uninterrupted: Any, count: int) -> list[int]:
    """Lengths to cut to: around the end of each line, and ``count`` anywhere in the tail."""
    found = scan(uninterrupted.log().read_bytes())
    ends = {end + by for end in found.ends for by in (-1, 0, 1)}
    return sorted((ends | set(random.Random(5).choices(range(found.size - TAIL, found.size), k=count))) & set(range(found.size + 1)))


def cut_and_go_on(folder: Path, lengths: list[int], uninterrupted: Any, crash: Any, points: Any, expected: list[Any]) -> None:
    points.at_once(lambda length: goes_on(cut(folder / str(length), length, uninterrupted, crash), crash, expected), lengths)


def test_a_log_cut_anywhere_goes_on_to_the_same_end(
    tmp_path: Path, uninterrupted: Any, crash: Any, points: Any, expected: list[Any]
) -> None:
    cut_and_go_on(tmp_path, sample(uninterrupted, 12), uninterrupted, crash, points, expected)


@pytest.mark.sweep
def test_a_log_cut_at_every_third_byte_goes_on_to_the_same_end(
    tmp_path: Path, uninterrupted: Any, crash: Any, points: Any, expected: list[Any]
) -> None:
    size = uninterrupted.log().stat().st_size
    cut_and_go_on(tmp_path, list(range(size, size - TAIL, -3)), uninterrupted, crash, points, expected)
