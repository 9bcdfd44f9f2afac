"""A worker and sessions that have agents run in the background."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.stores.file.store import FileStore

SCOUT = "name: scout\nprompt: You dig.\nprovider: {type: scripted, turns: [Gold.]}\n"
CALL = "{name: scout, id: one, args: {input: Dig here, background: true}}"
TURNS = f"{{type: scripted, repeat_last: true, turns: [{{tool_calls: [{CALL}]}}, They dig., I heard.]}}"
LEAD = f"name: lead\nprompt: You lead.\nprovider: {TURNS}\n"


@pytest.fixture
def begun(store: Any, folder: Any) -> None:
    """A session whose run has begun, and whose model has an agent dig in the background."""
    (folder / "scout.yaml").write_text(SCOUT)
    (folder / "lead.yaml").write_text(f"{LEAD}subagents: {{scout: {{agent: scout.yaml, background: true}}}}\n")
    asks = (r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1"))
    store("s", [[r.Created("lead", "lead.yaml"), *asks]])


def line_of(process: Any, kind: str, session: str = "s") -> Any:
    """Reads what a worker says up to one line."""
    for text in process.stdout:
        line = json.loads(text)
        if (line["type"], line["session"]) == (kind, session):
            return line
    raise AssertionError(f"the worker ended without a line {kind} of {session}")


def test_what_comes_for_a_lead_whose_agent_has_ended_is_taken_as_it_is_for_any_other(begun: None, folder: Any, spawn: Any) -> None:
    worker = spawn("worker", "--json")
    line_of(worker, "given-back")
    post = Post("in-2", "input", "2026-01-02T03:04:05.000Z", None, [{"role": "user", "content": "More"}])
    asyncio.run(FileStore(folder / ".lousho").post("s", post))
    settled = line_of(worker, "settled")
    assert (settled["input_id"], settled["done"]["text"]) == ("in-2", "I heard.")


def test_a_lead_whose_agent_is_not_known_here_is_named_and_left(begun: None, lousho: Any, folder: Any, spawn: Any) -> None:
    (folder / "scout.yaml").write_text(SCOUT.replace("turns: [Gold.]", "turns: [{delay: 60, text: Gold.}]"))
    killed = spawn("worker", "--json")
    line_of(killed, "settled")
    killed.kill()
    killed.wait(20)
    (folder / "lead.yaml").write_text(LEAD)
    said: list[Any] = []
    worker = spawn("worker", "--json", "--status-every", "0.3s")
    while not said or said[-1]["type"] != "left":
        line = json.loads(worker.stdout.readline())
        said += [line] if line["type"] != "status" else []
    assert [line["type"] for line in said] == ["taken", "given-back", "left"]
    assert "a background agent" in said[2]["error"]["message"]
    for _ in range(2):
        assert json.loads(worker.stdout.readline())["type"] == "status", "it is not tried again at once"
