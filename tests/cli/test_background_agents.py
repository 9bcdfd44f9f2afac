"""Sub-agents of an agent file that run in the background."""

from __future__ import annotations

from typing import Any

import pytest

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
    assert "with its 1 background agents" in lead.lousho("delete", "s", "--dry-run").out
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
