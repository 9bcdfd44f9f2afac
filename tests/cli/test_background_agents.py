"""Sub-agents of an agent file that run in the background."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from lousho_cli.stores.file.store import FileStore

SCOUT = "name: scout\nprompt: You dig.\nprovider: {type: scripted, turns: [Gold.]}\n"
LEAD = """
name: lead
prompt: You lead.
provider:
  type: scripted
  turns:
    - tool_calls:
        - {name: scout, id: one, args: {input: Dig here, background: true}}
        - {name: scout, id: two, args: {input: Dig there, background: true}}
    - They dig.
    - I heard.
  repeat_last: true
subagents:
  scout: {agent: scout.yaml, background: true}
policy: {limits: {background_running: 1}}
durability: {resume_background_agents: false}
"""


@pytest.fixture
def lead(project: Any) -> Any:
    (project.folder / "scout.yaml").write_text(SCOUT)
    (project.folder / "lead.yaml").write_text(LEAD)
    return project


def test_the_model_of_a_file_has_an_agent_run_in_the_background_up_to_its_limit(lead: Any) -> None:
    assert lead.lousho("run", "lead.yaml", "Go", "-s", "s").code == 0
    lead.lousho("resume", "--all")
    messages = lead.messages("s")
    started, refused = [message["content"] for message in messages if message["role"] == "tool"]
    assert started == '{"agent":"one","started":true}'
    assert "at most 1 may run in the background" in refused
    assert any("[background agent scout (one) has ended]\nGold." in message["content"] for message in messages)
    assert messages[-1]["content"] == "I heard."


def test_deleting_a_session_deletes_its_agents(lead: Any) -> None:
    lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    lead.lousho("resume", "--all")
    sessions = lead.folder / ".lousho" / "sessions"
    (agent,) = [path.name for path in sessions.iterdir() if path.name != "s"]
    assert lead.lousho("delete", "s", "--dry-run", "--json").data["agents"] == [agent]
    assert "with its background agent)" in lead.lousho("delete", "s", "--dry-run").out
    assert lead.lousho("delete", "s", "--yes").code == 0
    assert list(sessions.iterdir()) == []


def test_an_agent_that_waits_keeps_its_lead_and_can_not_be_deleted_alone(lead: Any) -> None:
    turns = "[{tool_calls: [{name: dig, id: d, args: {}}]}, Gold.]"
    tools = "tools: [{name: dig, command: [echo, gold], needs_approval: true}]"
    (lead.folder / "scout.yaml").write_text(f"name: scout\nprompt: You dig.\nprovider: {{type: scripted, turns: {turns}}}\n{tools}\n")
    ran = lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    assert ran.code == 0, ran
    lead.lousho("resume", "--all")
    sessions = lead.folder / ".lousho" / "sessions"
    (agent,) = [path.name for path in sessions.iterdir() if path.name != "s"]
    alone = lead.lousho("delete", agent, "--yes")
    assert (alone.code, "whose background agent it is" in alone.err) == (5, True)
    assert lead.lousho("delete", "s", "--yes").code == 4
    assert {path.name for path in sessions.iterdir()} == {"s", agent}
    assert lead.lousho("delete", "s", "--yes", "--force").code == 0
    assert list(sessions.iterdir()) == []


WAITS = """name: scout
prompt: You dig.
provider: {type: scripted, turns: [{tool_calls: [{name: dig, id: d, args: {}}]}, Gold.]}
tools: [{name: dig, command: [sh, -c, "echo dug >> count; echo 1"], needs_approval: true}]
"""


def test_approving_what_a_background_agent_waits_for_goes_on_with_its_lead(lead: Any) -> None:
    (lead.folder / "scout.yaml").write_text(WAITS)
    ran = lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    (waits,) = lead.lousho("pending", "--json").data
    assert (ran.code, ran.err.strip().splitlines()[-1]) == (0, f"lousho approve {waits['id']}"), ran
    assert f"its background agent {waits['session']} waits for a person" in ran.err
    assert "scout: step 1 saved: calls dig" in ran.err
    decided = lead.lousho("approve", waits["id"])
    assert (decided.code, decided.out.strip()) == (0, "I heard."), decided
    assert ["scout: step 2 saved: answer", "step 1 saved: answer"] == [line for line in decided.err.splitlines() if "saved" in line]
    assert (lead.folder / "count").read_text() == "dug\n"
    assert lead.messages("s")[-1]["content"] == "I heard."


def test_rejecting_it_goes_on_with_the_lead_too(lead: Any) -> None:
    (lead.folder / "scout.yaml").write_text(WAITS)
    lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    decided = lead.lousho("reject", lead.lousho("pending", "--json").data[0]["id"], "--json")
    assert (decided.code, decided.data["session"], decided.data["text"]) == (0, "s", "I heard."), decided
    assert not (lead.folder / "count").exists()


STOPPED = """name: scout
prompt: You dig.
provider: {type: scripted, turns: [{tool_calls: [{name: dig, id: d, args: {}}]}, Gold.]}
tools: [{python: "dig.py:dig"}]
"""
DIG = """
import asyncio, os, signal
from pathlib import Path

async def dig() -> str:
    if not Path("count").exists():
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(100):
            await asyncio.sleep(0)
    with open("count", "a") as file:
        file.write("dug\\n")
    return "gold"
"""


@pytest.fixture
def left(lead: Any) -> Any:
    """A lead that has ended, and whose agent was stopped for a deploy in the middle of a call."""
    (lead.folder / "scout.yaml").write_text(STOPPED)
    (lead.folder / "dig.py").write_text(DIG)
    (lead.folder / "lead.yaml").write_text(LEAD.replace("resume_background_agents: false", "resume_background_agents: true"))
    ran = lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    assert (ran.code, ran.out.strip(), ran.err.strip().splitlines()[-1]) == (143, "They dig.", "lousho resume s"), ran
    return lead


@pytest.mark.parametrize("how", [["s"], [], ["--all"]], ids=["named", "alone", "all"])
def test_a_background_agent_that_was_left_goes_on_with_its_lead(left: Any, how: list[str]) -> None:
    (agent,) = [path.name for path in (left.folder / ".lousho" / "sessions").iterdir() if path.name != "s"]
    found = left.lousho("resume", *how, "--check")
    assert (found.code, "nothing is pending" in found.out, agent in found.out) == (0, False, True), found
    resumed = left.lousho("resume", *how)
    assert (resumed.code, f"goes on in the background: {agent}" in resumed.err) == (0, True), resumed
    assert left.messages("s")[-1]["content"] == "I heard."
    assert (left.folder / "count").read_text() == "dug\n"
    assert "I heard." in resumed.out or how == ["--all"]
    assert "nothing is pending" in left.lousho("resume", *how).out


def test_continue_means_the_last_session_and_not_an_agent_of_one(left: Any) -> None:
    said = left.lousho("run", "-c", "And now?")
    assert (said.code, said.out.strip()) == (0, "I heard."), said
    assert any(message["content"] == "And now?" for message in left.messages("s"))


def test_a_worker_goes_on_with_a_background_agent_and_names_it(left: Any) -> None:
    lines = [json.loads(line) for line in left.lousho("worker", "--once", "--json").out.splitlines()]
    assert [(line["type"], line["agent"]) for line in lines] == [
        ("taken", "lead"),
        ("taken", "scout"),
        ("settled", "scout"),
        ("settled", "lead"),
        ("given-back", "lead"),
    ]


def test_a_worker_counts_no_background_agent_that_has_ended_as_running(left: Any, spawn: Any) -> None:
    with (left.folder / "log").open("w") as log:
        worker = spawn("worker", "--json", "--status-every", "50ms", stdout=log)
        left.until(lambda: '"done":2' in (left.folder / "log").read_text())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 143, worker.stderr.read()
    last = json.loads((left.folder / "log").read_text().splitlines()[-1])
    assert (last["running"], last["queued"], last["done"]) == (0, 0, 2)


def test_an_agent_named_itself_or_decided_for_later_says_how_its_lead_goes_on(lead: Any) -> None:
    (lead.folder / "scout.yaml").write_text(WAITS)
    lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    (waits,) = lead.lousho("pending", "--json").data
    decided = lead.lousho("approve", waits["id"], "--no-resume")
    assert (decided.code, decided.err.strip().splitlines()[-1]) == (0, "lousho resume s"), decided
    named = lead.lousho("resume", waits["session"])
    assert (named.code, "goes on with its lead: lousho resume s" in named.err) == (2, True), named
    assert (lead.lousho("resume", "s").out.strip(), (lead.folder / "count").read_text()) == ("I heard.", "dug\n")


def test_a_decision_for_an_agent_whose_lead_is_driven_is_kept(lead: Any) -> None:
    (lead.folder / "scout.yaml").write_text(WAITS)
    lead.lousho("run", "lead.yaml", "Go", "-s", "s")
    (waits,) = lead.lousho("pending", "--json").data
    store = FileStore(lead.folder / ".lousho")
    claim = asyncio.run(store.claim("s", "elsewhere"))
    decided = lead.lousho("approve", waits["id"])
    assert (decided.code, "the decision is kept" in decided.err) == (0, True), decided
    asyncio.run(store.release(claim))
    assert (lead.lousho("resume", "s").out.strip(), (lead.folder / "count").read_text()) == ("I heard.", "dug\n")
