"""``--store kv:ACCOUNT/NAMESPACE``: what was run in a Worker is shown, compared and forked from a terminal."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.kv.checkpoints import KVCheckpointStore
from lousho_cli.stores.kv.store import KVStore
from lousho_cli.tools.function import function_tool

SCRIPT: list[Any] = [
    {
        "text": "I look.",
        "tool_calls": [{"name": "weather", "args": {"city": "Lisbon"}, "id": "w"}],
        "usage": {"input_tokens": 9, "output_tokens": 3},
    },
    {"text": "Sunny.", "tool_calls": [{"name": "book", "args": {"table": 2}, "id": "b"}]},
    {"text": "Booked."},
    {"text": "You are welcome."},
]


async def _run(front: Any, make: Callable[[Any], Any], session: str, text: Any, *, gated: bool) -> None:
    client = front.client()
    store = make(client)
    checkpoints = getattr(store, "checkpoints", store)

    def weather(city: str) -> dict[str, str]:
        return {"forecast": "sun"}

    def book(table: int) -> str:
        return "yes"

    await AgentExecutor.execute(
        agent={"name": "planner", "prompt": "Plan."},
        input=text,
        provider=ScriptedProvider(SCRIPT),
        tool_registry=[function_tool(weather), function_tool(book, needs_approval=gated)],
        session_id=session,
        checkpoint_store=checkpoints,
        approval_store=getattr(store, "approvals", None),
    )
    await client.aclose()


@pytest.fixture
def kv(kv_front: Any, folder: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The URL of a part of the namespace that nobody else uses, and a function that runs an agent there."""
    for name, value in kv_front.environ.items():
        monkeypatch.setenv(name, value)
    prefix = f"{uuid.uuid4().hex[:8]}/"

    class Place:
        url = f"kv:acct/ns1/{prefix}"

        @staticmethod
        def run(session: str = "trip", text: Any = "go", *, gated: bool = False, bare: bool = False) -> None:
            make = (lambda client: KVCheckpointStore(client, prefix)) if bare else (lambda client: KVStore(client, prefix))
            asyncio.run(_run(kv_front, make, session, text, gated=gated))

    return Place


@pytest.mark.parametrize("bare", [False, True], ids=["KVStore", "KVCheckpointStore"])
def test_a_session_and_its_history_are_shown(lousho: Any, kv: Any, bare: bool) -> None:
    kv.run(bare=bare)
    shown = lousho("show", "trip", "--json", "--store", kv.url).data
    assert (shown["session"], shown["status"], shown["step"], shown["agent"]) == ("trip", "finished", 3, "planner")
    assert [message["role"] for message in shown["messages"]] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert shown["fingerprint"]["tools"].keys() == {"weather", "book"}
    assert shown["usage"]["model_calls"] == 3
    rows = lousho("history", "trip", "--json", "--store", kv.url).data
    assert [(row["step"], row["status"]) for row in rows] == [(3, "finished"), *[(2, "in-progress")] * 2, *[(1, "in-progress")] * 2]
    assert rows[0]["address"] == "trip@1/3.1"
    assert rows[-1]["added"] == ["assistant calls weather"]
    assert all(row["saved_at"].endswith("Z") and row["bytes"] > 0 for row in rows)
    early = lousho("show", "trip@1.1", "--json", "--store", kv.url).data
    assert [message["role"] for message in early["messages"]] == ["system", "user", "assistant"]
    assert lousho("show", "trip", "--store", kv.url).code == 0


def test_a_second_run_is_told_from_the_first(lousho: Any, kv: Any) -> None:
    kv.run()
    kv.run(text="Thanks")
    rows = lousho("history", "trip", "--json", "--limit", "2", "--store", kv.url).data
    assert [row["address"] for row in rows] == ["trip@2/1.1", "trip@1/3.1"]
    for address, said in (("trip@1", "You are welcome."), ("trip@1/3", "Booked."), ("trip@1/1", '{"forecast":"sun"}')):
        assert lousho("show", address, "--json", "--store", kv.url).data["messages"][-1]["content"] == said


def test_what_waits_is_shown(lousho: Any, kv: Any) -> None:
    kv.run(gated=True)
    shown = lousho("show", "trip", "--json", "--store", kv.url).data
    assert shown["status"] == "awaiting-approval"
    assert (shown["waits_for"]["tool"], shown["waits_for"]["args"], shown["waits_for"]["session"]) == ("book", {"table": 2}, "trip")


def test_fork_and_diff(lousho: Any, kv: Any) -> None:
    kv.run()
    before = lousho("show", "trip", "--json", "--store", kv.url).data
    patch = 'w={"forecast": "rain"}'
    ran = lousho("fork", "trip", "--from-step", "1", "--tool-result", patch, "--store", kv.url)
    assert ran.code == 0
    assert "trip.fork-1: forked from step 1 of trip" in ran.out
    assert f"lousho show trip.fork-1 --store {kv.url}" in ran.err
    forked = lousho("show", "trip.fork-1", "--json", "--store", kv.url).data
    assert (forked["status"], forked["step"], json.loads(forked["messages"][-1]["content"])) == ("in-progress", 1, {"forecast": "rain"})
    compared = lousho("diff", "trip", "trip.fork-1", "--json", "--store", kv.url).data
    assert compared["diverged_at"] == 1
    assert lousho("diff", "trip", "trip.fork-1", "--exit-code", "--store", kv.url).code == 10
    assert lousho("show", "trip", "--json", "--store", kv.url).data == before
    assert lousho("fork", "trip@2", "-q", "--store", kv.url).out == "trip.fork-2\n"
    assert lousho("fork", "trip@2", "--as", "trip", "--store", kv.url).code == 2


def test_a_session_of_which_only_the_history_is_kept(lousho: Any, kv: Any, kv_front: Any) -> None:
    kv.run()

    async def clear() -> None:
        await KVStore(kv_front.client(), kv.url.partition("ns1/")[2]).checkpoints.delete("trip", keep_history=True)

    asyncio.run(clear())
    assert len(lousho("history", "trip", "--json", "--store", kv.url).data) == 5
    shown = lousho("show", "trip", "--json", "--store", kv.url)
    assert (shown.code, shown.data["messages"]) == (0, [])
    assert lousho("fork", "trip@3", "-q", "--store", kv.url).out == "trip.fork-1\n"


def test_a_name_is_found_by_its_beginning(lousho: Any, kv: Any) -> None:
    kv.run("planning")
    kv.run("other")
    assert lousho("show", "plan", "-q", "--store", kv.url).out == "planning\n"
    ran = lousho("show", "nobody", "--store", kv.url)
    assert ran.code == 3
    assert "other, planning" in ran.err
    missing = lousho("show", "other@9", "--store", kv.url)
    assert missing.code == 3
    assert "Kept steps: 1, 2, 3." in missing.err
    assert lousho("history", "nobody", "--json", "--store", kv.url).data == []


@pytest.mark.parametrize(
    "command",
    [
        ("run", "trip"),
        ("resume", "trip"),
        ("resume", "trip", "--check"),
        ("list",),
        ("pending",),
        ("follow", "trip"),
        ("approve", "trip"),
        ("abort", "trip"),
        ("delete", "trip", "--yes"),
        ("fsck",),
        ("fork", "trip@1", "--run"),
    ],
    ids=lambda command: "-".join(command),
)
def test_what_needs_a_log_is_refused_and_says_what_works(lousho: Any, kv: Any, command: tuple[str, ...]) -> None:
    ran = lousho(*command, "--store", kv.url)
    assert ran.code == 2
    assert "keeps checkpoints, not logs" in ran.err
    assert "show, history, fork, diff and export" in ran.err


def test_doctor_says_whether_it_can_be_asked(lousho: Any, kv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {check["name"]: check["state"] for check in lousho("doctor", "--json", "--store", kv.url).data}
    assert checks["store"] == "ok"
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN")
    checks = {check["name"]: check["state"] for check in lousho("doctor", "--json", "--store", kv.url).data}
    assert checks["store"] == "fail"


@pytest.mark.parametrize("url", ["kv:", "kv:acct", "kv:acct/", "kv:/ns1", "kv:a b/ns1"])
def test_a_url_that_names_no_namespace_is_refused(lousho: Any, kv: Any, url: str) -> None:
    assert lousho("show", "trip", "--store", url).code == 2


def test_a_missing_or_wrong_token_is_named(lousho: Any, kv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "wrong-t0ken")
    ran = lousho("show", "trip", "--store", kv.url)
    assert ran.code == 1
    assert "Cloudflare answered 403" in ran.err
    assert "wrong-t0ken" not in ran.err
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN")
    ran = lousho("show", "trip", "--store", kv.url)
    assert ran.code == 2
    assert "Set CLOUDFLARE_API_TOKEN" in ran.err
