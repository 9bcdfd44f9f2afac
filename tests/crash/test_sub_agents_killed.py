"""Killed in a run with sub-agents, two deep and two at once: another process goes on to the same end, within each of them."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from warm_process import run

from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.core.sub_sessions import sub_sessions
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.stores.file.store import FileStore

SCRIPT = Path(__file__).with_name("sub_agent_process.py")


class Place:
    """One store, and what its tools and models did."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        folder.mkdir()
        self.store, self.effects, self.environ = folder / ".lousho", folder / "effects", environ

    def run(self, *before: str) -> int:
        words = [*before, sys.executable, str(SCRIPT), str(self.store), str(self.effects)]
        done = run(words, env=self.environ, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, -9), done.stderr
        return done.returncode

    def batches(self) -> tuple[r.Batch, ...]:
        found = asyncio.run(FileStore(self.store).read("s"))
        assert not found.holes
        return found.batches

    def done(self) -> Counter[str]:
        return Counter(self.effects.read_text().splitlines()) if self.effects.exists() else Counter()

    def recorded(self) -> set[str]:
        """The effects whose outcome is in the log: results and turns."""
        found = set()
        for one in sub_sessions(self.batches()):
            turns, asked = 0, next((m.text for m in one.session.messages if m.role == "user"), "")
            for message in one.session.messages:
                if message.role == "tool":
                    found.add("start " + "/".join((*one.calls, message.tool_call_id or "")))
                elif message.role == "assistant":
                    found.add(f"model {one.path[-1]} {asked} {turns}")
                    turns += 1
        return found


def said(batches: tuple[r.Batch, ...]) -> Any:
    """What everybody said, whatever was done at the same time."""
    lead = fold(batches)
    subs = {one.calls: [(m.role, m.text, m.tool_call_id) for m in one.session.messages] for one in sub_sessions(batches)}
    return [(m.role, m.text, m.tool_call_id) for m in lead.messages], subs, lead.usage.delegated.model_calls


def must_hold(batches: tuple[r.Batch, ...]) -> None:
    whole = state_from(fold(batches))
    for cut in range(len(batches)):
        half = fold(batches[:cut])
        assert check(half.messages, open_tail=True) is None
        for child in half.children.values():
            assert check(child.messages, open_tail=True) is None
        assert state_from(fold(batches[cut:], half)) == whole


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, crash: Any) -> Place:
    place = Place(tmp_path_factory.mktemp("whole") / "w", crash.environment())
    assert place.run() == 0
    return place


def sweep(tmp_path: Path, whole: Place, points: Any, call: str, step: int) -> int:
    """Kills at every ``step``-th call that touches the store, each time going on from there; gives how many were killed."""
    if not points.can_trace():
        pytest.skip("strace is not there, or may not trace")
    expected = said(whole.batches())
    reference, trace = Place(tmp_path / "reference", whole.environ), tmp_path / "trace"
    reference.run("strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=%file,%desc")
    numbers = points.calls_in(trace.read_text(), str(reference.store)).get(call, range(0))
    return sum(
        points.at_once(
            lambda number: one(Place(tmp_path / f"{call}-{number}", whole.environ), points, call, number, expected), numbers[::step]
        )
    )


def one(place: Place, points: Any, call: str, number: int, expected: Any) -> bool:
    if place.run(*points.strace(call, f"signal=KILL:when={number}")) == 0:
        return False
    before, recorded = place.done(), place.recorded()
    must_hold(place.batches())
    assert place.run() == 0
    after = place.done()
    assert said(place.batches()) == expected, f"killed at {call} {number}"
    for what in recorded:
        assert after[what] == before[what], f"{what} was recorded and done again, killed at {call} {number}"
    must_hold(place.batches())
    return True


def test_nothing_is_lost_or_done_twice_by_a_kill_at_a_write(tmp_path: Path, whole: Place, points: Any) -> None:
    must_hold(whole.batches())
    assert all(one.session.outcome == "completed" for one in sub_sessions(whole.batches()))
    assert {one.path for one in sub_sessions(whole.batches())} == {("scout",), ("clerk",), ("scout", "deep")}
    assert sweep(tmp_path, whole, points, "write", 3) > 5


@pytest.mark.sweep
@pytest.mark.parametrize("call", ["write", "fdatasync", "openat", "link", "rename", "unlink", "close"])
def test_nothing_is_lost_or_done_twice_by_a_kill_anywhere(tmp_path: Path, whole: Place, points: Any, call: str) -> None:
    assert sweep(tmp_path, whole, points, call, 1) > 1
