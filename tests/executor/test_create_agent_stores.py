"""One agent over every store that comes with lousho: a pause, a decision elsewhere, a fork, a dropped turn, a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pg_server
import pytest

from lousho_cli import (
    ConfigurationError,
    FileApprovalStore,
    FileCheckpointStore,
    FileStore,
    KVStore,
    LocalStorageApprovalStore,
    LocalStorageCheckpointStore,
    PostgresStore,
    SqliteStore,
    create_agent,
    memory_store,
)


class Shelf:
    """Keys and values of this process, with the names of a KV namespace and of a local storage."""

    def __init__(self) -> None:
        self.rows: dict[str, Any] = {}

    async def get(self, key: str, *options: Any) -> Any:
        return self.rows.get(key)

    async def put(self, key: str, value: Any, **options: Any) -> None:
        self.rows[key] = value

    set = put

    async def delete(self, key: str) -> None:
        self.rows.pop(key, None)

    remove = delete

    async def list(self, prefix: str = "", **options: Any) -> list[str]:
        return [key for key in self.rows if key.startswith(prefix)]


def both(checkpoints: Any, approvals: Any) -> dict[str, Any]:
    return {"checkpoints": checkpoints, "approvals": approvals}


def _memory(place: Path) -> Callable[[], Any]:
    store = memory_store()
    return lambda: store


def _kv(place: Path) -> Callable[[], Any]:
    shelf = Shelf()
    return lambda: KVStore(shelf)


def _local_storage(place: Path) -> Callable[[], Any]:
    shelf = Shelf()
    return lambda: both(LocalStorageCheckpointStore(shelf), LocalStorageApprovalStore(shelf))


STORES: dict[str, Callable[[Path], Callable[[], Any]]] = {
    "memory": _memory,
    "file": lambda place: lambda: FileStore(place / ".lousho"),
    "sqlite": lambda place: lambda: SqliteStore(place / "jobs.db"),
    "postgres": lambda place: lambda: PostgresStore(pg_server.place_url(place)),
    "checkpoint files": lambda place: lambda: both(FileCheckpointStore(place), FileApprovalStore(place)),
    "local storage": _local_storage,
    "kv": _kv,
}
"""How to open each, as another process would, again and again."""


@pytest.mark.parametrize("kind", STORES)
async def test_an_agent_does_all_it_can_on_every_store(kind: str, bench: Any, box: Any, tmp_path: Path) -> None:
    again = STORES[kind](tmp_path)

    def die(args: Any, ctx: Any) -> str:
        if args["n"] == 0:
            raise bench.Killed
        return "ran"

    box.tool("pay", needs_approval=True)
    box.tool("die", die)
    model = bench.Model(bench.Calls("pay"), "paid", bench.Calls(("die", {"n": 0})), "after")

    def agent() -> Any:
        return create_agent(model, store=again(), tools=box.tools, on_agent_drift="error")

    paused = await agent().send("go", "s")
    waiting = await agent().approvals.get(paused.approval_id)
    assert (waiting.id, (await agent().session("s").pending()).status) == (paused.approval_id, "awaiting-approval")
    paid = await agent().approvals.resolve(waiting.id, True)
    assert (paid.text, await agent().resume("s")) == ("paid", None)

    fork = await agent().fork("s", 1, {"append_input": "more"})
    assert fork.checkpoint.status == "in-progress"

    await bench.dies(agent().send("again", "s"))
    assert (await agent().session("s").pending()).status == "in-progress"
    assert await agent().session("s").discard_pending() is True
    stores = again()
    saved = await (stores["checkpoints"] if isinstance(stores, dict) else stores.checkpoints).load("s")
    assert (saved.status, saved.messages) == ("finished", paid.messages)

    await bench.dies(agent().send("once more", "s"))
    assert box.ran == ["c1", "c2", "c2"]


async def test_an_approval_store_that_says_it_can_not_list_is_remembered_for(bench) -> None:
    class Silent(bench.PlainApprovals):
        async def list(self) -> list[Any]:
            raise ConfigurationError("it can not list")

    box = bench.Box()
    tools = [box.tool("book", needs_approval=True)]
    agent = create_agent(
        provider=bench.Model(bench.Calls("book"), "ok"), tools=tools, store={"checkpoints": bench.PlainCheckpoints(), "approvals": Silent()}
    )
    paused = await agent.send("go", session_id="s")
    assert [wait.id for wait in await agent.approvals.list()] == [paused.approval_id]


@pytest.mark.parametrize("tools", [5, "work", object()])
def test_tools_that_are_none_are_named(bench, tools: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        create_agent(provider=bench.Model("ok"), tools=tools)
    assert raised.value.field == "tools"


async def test_an_approval_function_that_leaves_the_process_only_fails_its_call(bench) -> None:
    def leave(args: Any) -> bool:
        raise SystemExit(3)

    box = bench.Box()
    tool = box.tool("book", needs_approval=leave)
    result = await create_agent(provider=bench.Model(bench.Calls("book"), "ok"), tools=[tool]).send("go")
    assert result.text == "ok"
    assert box.log == []
