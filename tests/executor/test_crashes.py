"""Dying anywhere and going on: real processes killed, and every write of a run as the last one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.core.transcript import check
from lousho_cli.errors import SDKError


def killed_in_its_tool(place: Path) -> None:
    """Runs a session in another process and kills it once its tool hangs."""
    process = Popen(
        [sys.executable, str(Path(__file__).with_name("run_that_hangs.py")), str(place)],
        env=os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])},
    )
    ran = place / "ran.txt"
    while not (ran.exists() and "hang c2\n" in ran.read_text()):
        assert process.poll() is None, "it ended before it hung"
        os.sched_yield()
    process.kill()
    process.wait()


async def test_de_150_a_killed_process_leaves_its_last_record(bench: Any, box: Any, tmp_path: Path) -> None:
    killed_in_its_tool(tmp_path)
    stores = bench.file(tmp_path)
    saved = await stores.saved()
    assert (saved.status, saved.step_index) == ("in-progress", 1)
    assert bench.shape(saved.messages)[2:] == ["calls:c1+c2", "result:c1"]
    box.tool("book")
    box.tool("hang", lambda args, ctx: "came back")
    model = bench.Model(None, "done")
    result = await bench.run(stores, model, box.tools, [])
    assert (box.ran, result.text, len(model.asked)) == (["c2"], "done", 1)
    assert bench.result(result.messages, "c2") == "came back"
    assert (tmp_path / "ran.txt").read_text() == "book c1\nhang c2\n"


class Dying:
    """Lets a store's write number ``at`` be the last: ``after`` it landed, or before. A batch of a log is a write."""

    def __init__(self, stores: Any, at: int, after: bool, killed: type[BaseException]) -> None:
        self.count, self._at, self._after, self._killed = 0, at, after, killed
        if stores.log_store:
            append = stores.log_store.append

            async def one_by_one(claim: Any, batches: Any, **options: Any) -> None:
                for batch in batches:
                    await self._write(append(claim, (batch,), **options))

            stores.log_store.append = one_by_one
        else:
            save = stores.checkpoints.save
            stores.checkpoints.save = lambda session_id, checkpoint: self._write(save(session_id, checkpoint))

    async def _write(self, write: Any) -> None:
        self.count += 1
        if self.count == self._at and not self._after:
            write.close()
            raise self._killed
        await write
        if self.count == self._at:
            raise self._killed


async def on_to_the_end(stores: Any, bench: Any, model: Any, tools: Any) -> Any:
    """What a person would do after any crash: resume, and approve whatever waits."""
    for _ in range(6):
        saved = await stores.saved()
        waits = saved is not None and saved.status == "awaiting-approval"
        text = [] if saved is not None and saved.status == "finished" else "go"
        try:
            if waits:
                result = await bench.decide(stores, saved.approval_id, model, tools, options={"tool_concurrency": 2})
            else:
                result = await bench.run(stores, model, tools, text, tool_concurrency=2)
        except SDKError:
            result = await bench.run(stores, model, tools, [], tool_concurrency=2)
        if result.status == "finished":
            return result
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_dying_at_any_write_loses_and_repeats_nothing(bench: Any, tmp_path: Path, after: bool) -> None:
    """Invariants 1 to 3 for each write of a run with a parallel batch, a pause and a second turn, on each kind of store."""

    def stores_of(kind: str, at: int) -> Any:
        if kind == "file":
            return bench.file(tmp_path / f"{at}")
        return bench.memory() if kind == "memory" else bench.custom(bench.PlainCheckpoints, bench.PlainWithLoad)

    for kind in ("memory", "file", "custom"):
        at = 0
        while True:
            at += 1
            stores = stores_of(kind, at)
            box, recorded = bench.Box(), Counter()
            box.tool("book", lambda args, ctx: asyncio.sleep(0))
            box.tool("pay", needs_approval=True)
            model = bench.Model(bench.Calls("book", "book", "pay", "book"), bench.Calls("book"), "done")
            dying = Dying(stores, at, after, bench.Killed)
            try:
                result = await on_to_the_end(stores, bench, model, box.tools)
            except bench.Killed:
                again = stores.again() if kind != "memory" else stores
                if again.log_store is not None and again.log_store is stores.log_store:
                    del again.log_store.append
                if await stores.saved() is not None:
                    recorded.update(m.tool_call_id for m in (await again.saved()).messages if m.role == "tool")
                before = Counter(box.ran)
                result = await on_to_the_end(again, bench, model, box.tools)
                repeated = Counter(box.ran) - before
                assert not (repeated.keys() & recorded.keys()), (kind, at, "a recorded result was made again")
            assert check(result.messages) is None
            assert bench.shape(result.messages) == [
                "system:Be brief.",
                "user:go",
                "calls:c1+c2+c3+c4",
                "result:c1",
                "result:c2",
                "result:c3",
                "result:c4",
                "calls:c5",
                "result:c5",
                "assistant:done",
            ], (kind, at)
            assert not any(m.is_error for m in result.messages), (kind, at)
            assert (result.steps, max(Counter(box.ran).values())) in ((3, 1), (3, 2))
            if dying.count < at:
                break
        assert at > 8, "the run has that many writes at least"
