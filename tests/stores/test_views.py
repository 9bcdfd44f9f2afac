"""The checkpoint and approval views of a log store: what a save keeps, and where a pause is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.core.session_ids import approval_log, keeps_only_a_pause
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.state import State
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore

AT = "2026-01-01T00:00:00.000Z"
CALL = ToolCall("c", "pay", "{}")
PENDING = PendingApproval("7f3a9c1e2b4d", "c", "pay", {}, "0" * 16, AT)
RUN: tuple[r.Record, ...] = (
    r.Created("agent", path="x/agent.yaml", harness="h", tenant="t"),
    r.InputReceived("first", (user("hi"),)),
    r.RunStarted("first", model="m", max_steps=7, deadline="2030-01-01T00:00:00.000Z"),
    r.InputApplied("first"),
    r.Turn(Message("assistant", "", (CALL,))),
)
PAUSED = (*RUN, r.WaitOpened(PENDING), r.Mark(1, "awaiting-approval", "awaiting-approval", PENDING.id))


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / ".lousho")


async def write(store: Any, *records: r.Record) -> None:
    claim = await store.claim("trip", "here")
    head = (await store.read("trip")).head
    await store.append(claim, [r.Batch(head + 1, claim.epoch, AT, (r.Claimed("here"), *records))])
    await store.release(claim)


async def test_a_save_keeps_who_the_session_is_and_its_inputs(store: Any) -> None:
    await write(store, r.Forked("parent", 4, 2, State()), *RUN, r.Mark(1))
    await write(store, r.InputReceived("waits", (user("later"),)))
    before = await read_session(store, "trip")
    loaded = await store.checkpoints.load("trip")
    await store.checkpoints.save("trip", msgspec.structs.replace(loaded, business_state={"k": 1}))
    after = await read_session(store, "trip")
    same = ("agent", "path", "harness", "tenant", "parent", "created_at", "inputs", "waiting", "active", "run", "messages", "pending")
    assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}
    assert set(after.inputs) == {"first", "waits"}
    assert after.business_state == {"k": 1}
    head = await store.head("trip")
    assert (head.parent, head.path, head.created_at, head.harness, head.tenant) == ("parent", "x/agent.yaml", AT, "h", "t")


async def test_a_session_that_begins_with_a_save_says_when(store: Any) -> None:
    await write(store, *RUN, r.Mark(1))
    loaded = await store.checkpoints.load("trip")
    await store.checkpoints.save("copy", loaded)
    head = await store.head("copy")
    assert "" < head.created_at <= head.updated_at


async def test_a_saved_pause_still_waits(store: Any) -> None:
    await write(store, *PAUSED)
    await store.checkpoints.save("trip", await store.checkpoints.load("trip"))
    assert [one.id for one in await store.approvals.list()] == [PENDING.id]
    assert await store.approvals.resolve(PENDING.id) is not None
    await store.checkpoints.save("trip", await store.checkpoints.load("trip"))
    assert await store.approvals.resolve(PENDING.id) is None


async def test_a_save_counts_what_another_saved_just_before(store: Any) -> None:
    await write(store, *RUN, r.Mark(1))
    loaded = await store.checkpoints.load("trip")
    claim: Callable[..., Any] = store.claim

    async def claim_behind_another(*args: Any) -> Any:
        store.claim = claim
        await store.checkpoints.save("trip", msgspec.structs.replace(loaded, business_state="theirs"))
        return await claim(*args)

    store.claim = claim_behind_another
    await store.checkpoints.save("trip", msgspec.structs.replace(loaded, business_state="ours"))
    ring = [(entry.address, entry.checkpoint.business_state) for entry in await store.checkpoints.history("trip")]
    assert ring == [("1/1.3", "ours"), ("1/1.2", "theirs"), ("1/1.1", None)]


def snapshot(session_id: str | None) -> ExecutionSnapshot:
    pending = msgspec.structs.replace(PENDING, session_id=session_id or "")
    messages = (user("hi"), Message("assistant", "", (CALL,)))
    return ExecutionSnapshot(Agent("agent"), messages, pending, 1, session_id, remaining_tool_calls=())


@pytest.mark.parametrize("session_id", [None, "elsewhere"])
async def test_a_pause_kept_for_elsewhere_is_no_session_and_goes_when_taken(store: Any, session_id: str | None) -> None:
    approvals = store.approvals
    for _ in range(2):  # one that was taken can be put back
        pause = snapshot(session_id)
        await approvals.save(pause.pending_tool_call, pause)
        (head,) = (await store.heads()).heads
        assert keeps_only_a_pause(head)
        (listed,) = await approvals.list()
        assert (listed.id, listed.session_id) == (PENDING.id, session_id or "")
        taken = await approvals.resolve(PENDING.id)
        assert taken is not None and taken.snapshot.session_id == session_id
        assert await approvals.resolve(PENDING.id) is None
        assert await approvals.load(PENDING.id) is None
        assert (await store.heads()).heads == ()


async def test_a_session_that_waits_is_no_pause_kept_for_elsewhere(store: Any) -> None:
    await write(store, *PAUSED)
    await store.approvals.resolve(PENDING.id)
    (head,) = (await store.heads()).heads
    assert not keeps_only_a_pause(head)
    assert not keeps_only_a_pause(msgspec.structs.replace(head, id="approval-trip"))
    assert keeps_only_a_pause(msgspec.structs.replace(head, id=approval_log(PENDING.id)))


def _checkpoint(step: int, *texts: str) -> Checkpoint:
    return Checkpoint("trip", (user("go"), *(Message("assistant", text) for text in texts)), step_index=step, agent_id="agent")


@pytest.mark.parametrize("saves", [60, pytest.param(1_000, marks=pytest.mark.slow)])
async def test_case_168_a_thousand_saves_of_a_megabyte_stay_small(in_memory: Path, saves: int) -> None:
    store = FileStore(in_memory / ".lousho", history_limit=5)
    log, largest = in_memory / ".lousho/sessions/trip/log.jsonl", 0
    for number in range(1, saves + 1):
        await store.checkpoints.save("trip", _checkpoint(number, f"{number:07}" * 150_000))
        largest = max(largest, log.stat().st_size)
    assert largest < 20_000_000
    entries = await store.checkpoints.history("trip")
    assert [entry.step for entry in entries] == list(range(saves, saves - 5, -1))
    assert [entry.checkpoint.messages[-1].text[:7] for entry in entries] == [f"{n:07}" for n in range(saves, saves - 5, -1)]
    loaded = await store.checkpoints.load("trip")
    assert loaded is not None
    assert loaded.step_index == saves


async def test_what_a_transcript_has_in_common_with_the_one_before_is_kept_once(store: Any) -> None:
    texts: list[str] = []
    for number in range(1, 11):
        texts.append(f"{number}" * 10_000)
        await store.checkpoints.save("trip", _checkpoint(number, *texts))
    base = (await store.read("trip", after=9)).batches[0]
    assert len(encode_line(base)) < 1.5 * sum(map(len, texts))
    entries = await store.checkpoints.history("trip")
    assert [len(entry.checkpoint.messages) for entry in entries] == list(range(11, 1, -1))
    await store.checkpoints.save("trip", _checkpoint(3, *texts[:3]))
    await store.checkpoints.save("trip", _checkpoint(4, *texts[:3], "otherwise"))
    entries = await store.checkpoints.history("trip", 3)
    assert [entry.checkpoint.messages[-1].text for entry in entries] == ["otherwise", texts[2], texts[9]]
    assert [entry.address for entry in await store.checkpoints.history("trip", 1)] == ["2/4.1"]


async def test_saves_that_trim_keep_numbers_and_who_was_asked_before(store: Any) -> None:
    for number in range(1, 5):
        await store.checkpoints.save("trip", _checkpoint(2, f"{number}" * 600_000))
    entries = await store.checkpoints.history("trip")
    assert [entry.address for entry in entries] == ["1/2.4", "1/2.3", "1/2.2", "1/2.1"]
    assert [entry.seq for entry in entries] == [4, 3, 2, 1]
    found = await store.read("trip")
    assert found.head == 4
    assert len(found.batches) < 4
