"""Input that was left for an owner who died before its session began: it is the session's first input then."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.domain.plain import plain


@pytest.fixture
async def left(log_stores: Any) -> Any:
    post = Post("p1", "input", "2026-01-01T00:00:00.000Z", "somebody", plain([user("from others")])[0])
    await log_stores.log_store.post("s", post)
    return log_stores


async def test_who_only_goes_on_takes_it_up(left: Any, bench: Any) -> None:
    result = await bench.run(left.again(), bench.Model("answered"), [], [], agent_path="agents/a.yaml")
    assert (result.text, result.status) == ("answered", "finished")
    assert bench.shape(result.messages) == ["system:Be brief.", "user:from others", "assistant:answered"]
    head = await left.log_store.head("s")
    assert (head.agent, head.path) == ("agent", "agents/a.yaml")


async def test_who_sends_it_again_gets_its_answer(left: Any, bench: Any) -> None:
    result = await bench.run(left.again(), bench.Model("answered"), text="from others", input_id="p1", by="somebody")
    assert (result.text, bench.shape(result.messages)[1:]) == ("answered", ["user:from others", "assistant:answered"])
    assert (await left.log_store.head("s")).agent == "agent"


async def test_also_as_the_next_input_of_a_session_that_ended(log_stores: Any, bench: Any) -> None:
    """It stands in the log as received, and its sender comes with it himself."""
    await bench.run(log_stores, bench.Model("one"))
    post = Post("p1", "input", "2026-01-01T00:00:00.000Z", "somebody", plain([user("from others")])[0])
    await log_stores.log_store.post("s", post)
    result = await bench.run(log_stores.again(), bench.Model(None, "two"), text="from others", input_id="p1", by="somebody")
    assert result.text == "two"
    assert [message.text for message in result.messages if message.role == "user"] == ["go", "from others"]


async def test_who_brings_another_is_served_first(left: Any, bench: Any) -> None:
    result = await bench.run(left.again(), bench.Model("mine", "theirs"), text="mine")
    assert result.text == "mine"
    messages = (await left.again().saved()).messages
    assert bench.shape(messages)[1:] == ["user:mine", "assistant:mine", "user:from others", "assistant:theirs"]
    assert (await left.log_store.head("s")).agent == "agent"
