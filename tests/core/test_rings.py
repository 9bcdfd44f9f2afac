"""A session of which only checkpoints are kept: its runs, its marks, and what a fork or a diff finds there."""

from __future__ import annotations

from typing import Any

from lousho_cli.core.addresses import find_mark, point_of
from lousho_cli.core.checkpoints import checkpoint_at, checkpoint_of
from lousho_cli.core.rings import state_of_ring
from lousho_cli.core.states import session_from
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.messages import Message, ToolCall, user

ASKS = Message("assistant", "", (ToolCall("a", "t"), ToolCall("b", "t")))


def entry(step: int, status: Any = "in-progress", *messages: Message, **more: Any) -> CheckpointHistoryEntry:
    checkpoint = Checkpoint("s", messages or (user(f"{step}"),), step_index=step, status=status, **more)
    return CheckpointHistoryEntry(step, f"2026-01-01T00:00:0{step}.000Z", status, checkpoint)


def session(*entries: CheckpointHistoryEntry, **more: Any) -> Any:
    latest = more.pop("latest", entries[-1].checkpoint if entries else None)
    return session_from(state_of_ring(entries, latest, **more))


def test_a_run_begins_behind_a_finished_one_or_where_steps_begin_again() -> None:
    found = session(entry(1), entry(1), entry(2, "finished"), entry(2, "finished"), entry(1), entry(3), entry(2))
    assert [mark.address for mark in found.marks] == ["1/1.1", "1/1.2", "1/2.1", "2/2.1", "3/1.1", "3/3.1", "4/2.1"]
    assert find_mark("s", found, point_of("s", "@1")).address == "3/1.1"
    assert find_mark("s", found, point_of("s", "@1/1.1")).at == "2026-01-01T00:00:01.000Z"


def test_a_mark_gives_back_the_checkpoint_that_was_kept() -> None:
    """Also one with a result behind a call that has none, and with input behind that."""
    messages = (user("go"), ASKS, Message("tool", "1", (), "b", "t"), user("and?"))
    kept = entry(1, "in-progress", *messages, agent_fingerprint=Fingerprint("f"), business_state={"k": 1}, finish_reason="tool_calls")
    found = session(kept)
    assert checkpoint_at("s", found.marks[0]).messages == messages
    assert [call.id for call in found.pending] == ["a"]
    assert found.held == (user("and?"),)
    mark = found.marks[0]
    assert (mark.run.fingerprint, mark.business_state, mark.finish_reason) == (Fingerprint("f"), {"k": 1}, "tool_calls")


def test_a_checkpoint_that_its_ring_lost_is_the_newest_and_not_in_the_ring() -> None:
    lost = entry(2).checkpoint
    found = session(entry(1), latest=lost)
    assert [mark.step for mark in found.marks] == [1]
    assert checkpoint_of("s", found).step_index == 2
    assert session(latest=lost).latest.address == "1/2.1"


def test_a_ring_without_its_checkpoint_is_a_session_that_was_cleared() -> None:
    found = session(entry(1), entry(2, "finished"), latest=None)
    assert not found.exists
    assert checkpoint_of("s", found) is None
    assert [mark.step for mark in found.marks] == [1, 2]
    assert not session(latest=None).exists
