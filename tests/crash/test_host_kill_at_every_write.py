"""A host killed at every write of a turn, and the host of another process that finishes it.

CI takes a few points; ``pytest -m sweep tests/crash`` takes all of them.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore

PROGRAM = Path(__file__).with_name("host_processes.py")
KILLED = -9
SAMPLED = 3
"""Points of each kind of work that CI takes."""


class Hosts:
    """Has processes started that each run a host."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.folder = folder
        self._parent = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._warm: set[tuple[str, str]] = set()

    def asked(self, **order: Any) -> dict[str, Any]:
        assert self._parent.stdin is not None and self._parent.stdout is not None
        self._parent.stdin.write(json.dumps({name: str(v) if isinstance(v, Path) else v for name, v in order.items()}) + "\n")
        self._parent.stdin.flush()
        answer: dict[str, Any] = json.loads(self._parent.stdout.readline())
        return answer

    def ran(self, do: str, place: Path, kind: str, **kill: Any) -> int:
        code: int = self.asked(do=do, place=place, kind=kind, **kill)["code"]
        if code == 0 and (do, kind) not in self._warm:
            self._warm.add((do, kind))
            self.asked(warm=place / "effects")
        return code

    def end(self) -> None:
        assert self._parent.stdin is not None and self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait(10)
        self._parent.stdout.close()


@pytest.fixture(scope="module")
def hosts(child_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    made = Hosts(child_environment, tmp_path_factory.mktemp("hosts"))
    yield made
    made.end()


class Sweep:
    """One kind of work over one kind of store: ``run`` on an empty one, ``approve`` where a turn waits for a person."""

    def __init__(self, hosts: Hosts, do: str, kind: str) -> None:
        self._hosts, self.do, self.kind = hosts, do, kind
        self._folder = hosts.folder / f"{do}-{kind}"
        self._before = self._folder / "before"
        self._before.mkdir(parents=True)
        if do == "approve":
            assert hosts.ran("wait", self._before, kind) == 0
        whole = self._place("whole")
        assert hosts.ran(do, whole, kind) == 0
        self.writes = int(next(line.split()[1] for line in lines(whole) if line.startswith("writes")))
        check_end(whole, kind, ended_before={})

    def _place(self, name: str) -> Path:
        place = self._folder / name
        shutil.copytree(self._before, place)
        (place / "effects").write_text("\n".join(line for line in lines(place) if line.split()[0] in ("model", "failed")) + "\n")
        return place

    def point(self, number: int, *, torn: bool = False) -> bool:
        """Kills a host at one write and has another finish; False where it ended before it came to that."""
        place = self._place(f"{number}-{torn}")
        code = self._hosts.ran(self.do, place, self.kind, kill=number, torn=torn)
        if code == 0:
            return False
        assert code == KILLED
        before, done = batches(place, self.kind), Counter(lines(place))
        finished = {record.id: record for record in found(before, r.ToolFinished)}
        decided = bool(found(before, r.WaitAnswered))
        begun = bool(found(before, r.ToolStarted))
        assert self._hosts.ran(self.do, place, self.kind) == 0
        check_end(place, self.kind, ended_before=finished)
        after = Counter(lines(place))
        for call_id in finished:
            assert after[f"start {call_id}"] == done[f"start {call_id}"], "a call with a result ran again"
        if self.do == "approve":
            assert decided or not done["told approved"], "an answer that was told is gone"
            if not begun:
                assert after["start c-pay"] == 1, "an approved call that had not begun runs exactly once"
        shutil.rmtree(place)
        return True


def lines(place: Path) -> list[str]:
    effects = place / "effects"
    return [line for line in effects.read_text().splitlines() if line] if effects.exists() else []


def batches(place: Path, kind: str) -> tuple[r.Batch, ...]:
    async def read() -> tuple[r.Batch, ...]:
        if kind == "file":
            return (await FileStore(place / ".lousho").read("t")).batches
        store = SqliteStore(place / "lousho.db")
        try:
            return (await store.read("t")).batches
        finally:
            store.close()

    return asyncio.run(read())


def found(written: tuple[r.Batch, ...], kind: type) -> list[Any]:
    return [record for batch in written for record in batch.records if isinstance(record, kind)]


def check_end(place: Path, kind: str, ended_before: dict[str, Any]) -> None:
    """What must hold of a turn that a host ended, whoever was killed before."""
    written, done = batches(place, kind), Counter(lines(place))
    assert done["settled completed Done."]
    session = fold(written)
    assert session.outcome == "completed"
    assert session.inputs["a"].outcome == "completed"
    assert check(session.messages) is None
    calls = [call.id for message in session.messages for call in message.tool_calls]
    results = [message for message in session.messages if message.role == "tool"]
    assert [message.tool_call_id for message in results] == calls, "a call has not exactly one result, in order"
    recorded = [record.id for record in found(written, r.ToolFinished)]
    assert sorted(recorded) == sorted(calls)
    assert done["start c-look"] <= 2
    assert done["start c-pay"] <= 1, "a call that must not run twice did"
    for message in results:
        cut = message.is_error and INTERRUPTED_TOOL_RESULT in message.text
        assert cut or message.text in ('"seen"', '"paid"'), message
        assert not cut or message.tool_call_id == "c-pay"
    for record in ended_before.values():
        assert record in found(written, r.ToolFinished)
    assert done["failed 0"] == done["failed 1"] == 1
    assert len(found(written, r.InputReceived)) == 1
    assert all(record.attempt == 2 for record in found(written, r.RunResumed))


@pytest.fixture(scope="module", params=[(do, kind) for do in ("run", "approve") for kind in ("file", "sqlite")], ids="-".join)
def sweep(request: pytest.FixtureRequest, hosts: Hosts) -> Sweep:
    return Sweep(hosts, *request.param)


def test_ds_143_a_host_killed_at_a_write_of_a_turn_and_another_finishes_it(sweep: Sweep) -> None:
    # None close to the end: a run may take a write less than the one they were counted in.
    sampled = range(1, sweep.writes + 1, max(sweep.writes // SAMPLED, 1))[:SAMPLED]
    assert all(sweep.point(number, torn=sweep.kind == "file" and number % 2 == 0) for number in sampled)


@pytest.mark.sweep
def test_a_host_killed_at_every_write_of_a_turn_and_another_finishes_it(sweep: Sweep) -> None:
    killed = [
        sweep.point(number, torn=torn) for torn in (False, True)[: 1 + (sweep.kind == "file")] for number in range(1, sweep.writes + 1)
    ]
    assert sum(killed) > 0.9 * len(killed)
