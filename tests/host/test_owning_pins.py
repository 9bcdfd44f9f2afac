"""Threads whose tools use a folder of one host."""

from __future__ import annotations

import json
from typing import Any

from lousho_cli.domain.heads import Post
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.define import define_tool
from tests.host.owning import closing, nobody_owns, until

LIVES = {"expires_after_ms": 1000, "renew_every_ms": 50}


def coder(ran: list[str], *turns: Any) -> Any:
    def edit() -> str:
        ran.append("edit")
        return "edited"

    def look() -> str:
        ran.append("look")
        return "seen"

    tools = [define_tool(name="edit", execute=edit, uses_host_folder=True), define_tool(name="look", execute=look)]
    both = {"tool_calls": [{"name": "edit", "args": {}, "id": "e"}, {"name": "look", "args": {}, "id": "l"}]}
    return define_harness("acme/coder", ScriptedProvider([both, "One.", both, "Two.", both, "Three."]), tools=tools)


async def run(host: Any, store: Any, ran: list[str], input_id: str) -> dict[str, Any]:
    """Runs an input; gives the results of its calls by tool."""
    session = await host.open(coder(ran), "t")
    await session.send("Go", input_id=input_id)
    assert (await session.settled(input_id)).outcome == "completed"
    await nobody_owns(store, "t")
    messages = (await read_session(store, "t")).messages
    return {message.tool_call_id[0]: message.text for message in messages[-3:] if message.tool_call_id}


async def test_ds_210_another_host_refuses_calls_that_use_a_folder_of_the_first(store: Any) -> None:
    first = create_harness_host({"log": store}, ownership={**LIVES, "host_id": "alpha"})
    second = create_harness_host({"log": store}, ownership={**LIVES, "host_id": "beta"})
    third = create_harness_host({"log": store})
    async with closing(first, second, third):
        ran: list[str] = []
        await run(first, store, ran, "a")
        assert sorted(ran) == ["edit", "look"]
        assert (await store.head("t")).pinned_to == "alpha"
        for number, other in enumerate((second, third)):
            ran.clear()
            results = await run(other, store, ran, f"b{number}")
            assert ran == ["look"], "other calls run"
            assert "LOUSHO_WRONG_HOST" in json.loads(results["e"])["message"]
            assert "alpha" in results["e"]
        assert (await store.head("t")).pinned_to == "alpha"


async def test_ds_163_a_thread_stays_with_its_host_until_that_is_not_heard_of(store: Any) -> None:
    first = create_harness_host({"log": store}, ownership={**LIVES, "host_id": "alpha"})
    second = create_harness_host({"log": store}, ownership={**LIVES, "host_id": "beta"})
    async with closing(first, second):
        ran: list[str] = []
        await run(first, store, ran, "a")
        await store.post("t", Post("b", "input", "2026-01-01T00:00:00.000Z", None, [{"role": "user", "content": "More"}]))
        assert await second.resume_pending([coder(ran)]) == []
        await until(lambda: _beats(store, "alpha"))
        assert await second.resume_pending([coder(ran)]) == []
        await first.close()
        ran.clear()

        async def gone() -> bool:
            return not await store.lives("alpha")

        await until(gone)
        assert [one.thread_id for one in await second.resume_pending([coder(ran)])] == ["t"]
        session = await second.open(coder(ran), "t")
        assert (await session.settled("b")).text == "Two."
        assert sorted(ran) == ["edit", "look"]
        assert (await store.head("t")).pinned_to == "beta"


async def _beats(store: Any, host_id: str) -> bool:
    return bool(await store.lives(host_id))


async def test_without_a_stable_id_nothing_is_pinned(store: Any) -> None:
    host = create_harness_host({"log": store})
    async with closing(host):
        ran: list[str] = []
        await run(host, store, ran, "a")
        assert sorted(ran) == ["edit", "look"]
        assert (await store.head("t")).pinned_to is None
