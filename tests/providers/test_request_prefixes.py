"""A server's prompt cache keeps hitting: a request begins with the bytes of the one before it, whatever happened in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli import AgentExecutor, function_tool, resume_after_approval
from lousho_cli.stores.memory import MemoryStore
from tests.providers.contract.kinds import KINDS

CALLS = [
    ("call_a", "look", '{"at": "a", "n": 2712345678901234567}'),
    ("call_b", "look", '{ "at": "b" }'),
    ("call_c", "book", '{"at": "c"}'),
]
AGENT = {"name": "a", "prompt": "Be brief."}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.id)
def kind(request: Any) -> Any:
    return request.param


def asking(kind: Any, wire: Any) -> Any:
    """A provider without the marks that move from request to request."""
    return kind.provider(wire.root, **({"prompt_cache": False} if kind.id == "anthropic" else {}))


def thinking_and_calling(kind: Any) -> bytes:
    stream: bytes = kind.stream("Let ", "me look: “é”", calls=CALLS, thoughts=["Hm", "."])
    return stream


def tools(last: str, *, ask: bool = False) -> list[Any]:
    """Two tools; the call at ``last`` ends behind the others."""
    others = asyncio.Semaphore(0)

    async def look(at: str, n: int = 0) -> str:
        if at == last:
            await others.acquire()
        else:
            others.release()
        return f"seen {at}"

    def book(at: str) -> str:
        return f"booked {at}"

    return [function_tool(look), function_tool(book, needs_approval=ask)]


def prefix(wire: Any) -> bytes:
    """The first request up to what the user said, which stands last in it."""
    head: bytes = wire.seen[0].raw
    return head[: head.rindex(b"hello")]


async def test_results_that_come_in_another_order_are_the_same_request(kind: Any, wire: Any) -> None:
    sent = []
    for last in ("a", "b"):
        wire.plays += [wire.Play([thinking_and_calling(kind)]), wire.Play([kind.stream("done")])]
        provider = asking(kind, wire)
        ran = await AgentExecutor.execute(agent=AGENT, input="hello", provider=provider, tool_registry=tools(last))
        await provider.aclose()
        assert ran.text == "done"
        sent.append(wire.seen[-1].raw)
        assert sent[-1].startswith(prefix(wire))
    assert sent[0] == sent[1]


async def test_an_approval_with_other_arguments_changes_nothing_in_front_of_its_result(kind: Any, wire: Any) -> None:
    """The model's own text of the call stays; what was changed is told in the result."""
    sent = []
    for args in (None, {"at": "elsewhere"}):
        store = MemoryStore()
        wire.plays += [wire.Play([thinking_and_calling(kind)]), wire.Play([kind.stream("done")])]
        provider = asking(kind, wire)
        stores = {"checkpoint_store": store.checkpoints, "approval_store": store.approvals}
        paused = await AgentExecutor.execute(
            agent=AGENT, input="hello", provider=provider, tool_registry=tools("a", ask=True), session_id="s", **stores
        )
        decision = {"id": paused.approval_id, "approved": True} | ({"args": args} if args else {})
        ran = await resume_after_approval(
            decision, store.approvals, tools("a", ask=True), provider, {"agent": AGENT}, checkpoint_store=store.checkpoints
        )
        await provider.aclose()
        assert ran.text == "done"
        sent.append(wire.seen[-1].raw)
    plain, edited = sent
    assert b"elsewhere" in edited
    at = plain.index(b"booked")
    assert at > plain.rindex(b"seen b")
    same = next(place for place, (one, other) in enumerate(zip(plain, edited, strict=False)) if one != other)
    assert same > plain.rindex(b"seen b"), "nothing in front of the last result differs"


async def test_a_fork_goes_on_from_the_bytes_of_its_source(kind: Any, wire: Any) -> None:
    store = MemoryStore()
    wire.plays += [wire.Play([thinking_and_calling(kind)]), wire.Play([kind.stream("done")]), wire.Play([kind.stream("done")])]
    provider = asking(kind, wire)
    going = {"agent": AGENT, "provider": provider, "tool_registry": tools("a"), "checkpoint_store": store.checkpoints}
    _ = await AgentExecutor.execute(input="hello", session_id="s", **going)
    forked = await AgentExecutor.fork(session_id="s", from_step=1, checkpoint_store=store.checkpoints, patch={"append_input": "and?"})
    _ = await AgentExecutor.execute(input=[], session_id=forked.session_id, **going)
    await provider.aclose()
    assert wire.seen[2].raw.startswith(wire.seen[1].raw[: wire.seen[1].raw.rindex(b"booked c")])
    assert b"and?" in wire.seen[2].raw
