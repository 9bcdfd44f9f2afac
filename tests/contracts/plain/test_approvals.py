"""Approvals on every store of ours: kept whole, taken once, opened again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.errors import ConfigurationError


def pause(approval_id: str = "ap1", created_at: str = "2026-01-01T00:00:00.000Z") -> tuple[PendingApproval, ExecutionSnapshot]:
    pending = PendingApproval(approval_id, "c1", "pay", {"n": 1, "ü": [1.5, None]}, "0" * 16, created_at, session_id="s")
    messages = (user("go"), Message("assistant", "", (ToolCall("c1", "pay", '{"n":1}'),)))
    return pending, ExecutionSnapshot(Agent("agent"), messages, pending, 1, "s", remaining_tool_calls=())


async def test_what_is_saved_is_given_back_once(ours: Any) -> None:
    await ours.approvals.save(*pause())
    looked = await ours.again().approvals.load("ap1")
    assert looked.pending == pause()[0]
    assert looked.snapshot.current_messages == pause()[1].current_messages
    took = await ours.again().approvals.resolve("ap1")
    assert (took.pending, took.snapshot.remaining_tool_calls) == (pause()[0], ())
    assert await ours.again().approvals.resolve("ap1") is None
    assert await ours.approvals.load("ap1") is None


async def test_saving_it_again_opens_it_again(ours: Any) -> None:
    for _ in range(2):
        await ours.approvals.save(*pause())
        assert (await ours.again().approvals.resolve("ap1")).pending.id == "ap1"
        assert await ours.approvals.resolve("ap1") is None


async def test_an_unknown_one_is_none(ours: Any) -> None:
    assert await ours.approvals.load("nobody") is None
    assert await ours.approvals.resolve("nobody") is None


async def test_de_067_of_many_who_ask_at_once_one_gets_it(careful: Any) -> None:
    for _ in range(5):
        await careful.approvals.save(*pause())
        took = await asyncio.gather(*(careful.approvals.resolve("ap1") for _ in range(8)), return_exceptions=True)
        assert sum(one is not None and not isinstance(one, Exception) for one in took) == 1


async def test_those_that_wait_are_listed_oldest_first(listing: Any) -> None:
    for approval_id, day in (("a", "03"), ("b", "01"), ("c", "02")):
        await listing.approvals.save(*pause(approval_id, f"2026-01-{day}T00:00:00.000Z"))
    await listing.approvals.resolve("c")
    assert [pending.id for pending in await listing.again().approvals.list()] == ["b", "a"]


async def test_de_140_an_id_that_leads_out_of_the_store_is_refused(careful: Any, bench: Any) -> None:
    for session in ("../x", "a/b", ".hidden", "", "x" * 201, "a\x00b", "ü"):
        for call in (
            lambda name: careful.checkpoints.save(name, bench.checkpoint(1)),
            careful.checkpoints.load,
            careful.checkpoints.delete,
            careful.checkpoints.history,
        ):
            with pytest.raises(ConfigurationError) as raised:
                await call(session)
            assert raised.value.code == "LOUSHO_SESSION_ID_INVALID"
