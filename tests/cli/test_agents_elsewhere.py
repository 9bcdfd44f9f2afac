"""Background agents that somebody changes from another terminal: decided, aborted, or stopped together with their lead."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from lousho_cli.domain.texts import LEAD_ABORTED_MESSAGE
from lousho_cli.executor.aborts import call_off_agents
from lousho_cli.stores.file.store import FileStore

LEAD = """
name: lead
prompt: You lead.
provider:
  type: scripted
  turns:
    - tool_calls: [{name: scout, id: one, args: {input: Dig, background: true}}]
    - SECOND
    - They dig.
    - I heard.
  repeat_last: true
tools: [{name: look, command: [sh, -c, "touch looking; read line < look.fifo; echo 1"]}]
subagents:
  scout: {agent: scout.yaml, background: true}
"""
SCOUT = """
name: scout
prompt: You dig.
provider: {type: scripted, turns: [{tool_calls: [{name: dig, id: d, args: {}}]}, Gold.]}
tools: [{name: dig, command: [sh, -c, "touch digging; HOLD echo dug >> count; echo 1"], needs_approval: NEEDED}]
"""
LOOKS, HOLD = "{tool_calls: [{name: look, id: l, args: {}}]}", "read line < dig.fifo;"


@pytest.fixture
def lead(project: Any) -> Any:
    def write(*, looks: bool = True, waits: bool = True) -> Any:
        """A lead that may be held up in a tool, and its agent, which waits for a person or is held up in its own."""
        (project.folder / "lead.yaml").write_text(LEAD.replace("SECOND", LOOKS if looks else "They dig."))
        (project.folder / "scout.yaml").write_text(SCOUT.replace("HOLD", "" if waits else HOLD).replace("NEEDED", str(waits).lower()))
        for name in ("look", "dig"):
            os.mkfifo(project.folder / f"{name}.fifo")
        return project

    return write


def let_go(project: Any, name: str) -> None:
    """Lets a tool go on that reads from its pipe."""
    with (project.folder / f"{name}.fifo").open("w") as pipe:
        pipe.write("go\n")


def agent_of(project: Any) -> Any:
    (agent,) = [one for one in project.lousho("list", "--json").data if one["id"] != "s"]
    return agent


def waiting_free(project: Any) -> dict[str, Any]:
    """What an agent waits for, once its host has given it back, which it does a moment after the agent began to wait."""
    store = FileStore(project.folder / ".lousho")
    (waits,) = project.until(lambda: project.lousho("pending", "--json").data)
    project.until(lambda: asyncio.run(store.owner(waits["session"])) is None)
    return waits  # type: ignore[no-any-return]


def ends(project: Any) -> list[dict[str, Any]]:
    """What the log of the lead says of agents that ended."""
    records = [record for line in project.log("s").splitlines() if line for record in json.loads(line)["records"]]
    return [record for record in records if record["type"] == "lousho.agent_ended"]


def test_the_host_of_a_lead_goes_on_with_an_agent_that_was_decided_elsewhere(lead: Any, spawn: Any) -> None:
    project = lead()
    owner = spawn("run", "lead.yaml", "Go", "-s", "s")
    project.until(lambda: (project.folder / "looking").exists())
    waits = waiting_free(project)
    decided = project.lousho("approve", waits["id"])
    assert (decided.code, f"drives its lead s and goes on with {waits['session']}" in decided.err) == (0, True), decided
    project.until(lambda: (project.folder / "count").exists() and ends(project))
    assert owner.poll() is None  # all that while its own tool runs
    let_go(project, "look")
    out, err = owner.communicate(timeout=30)
    assert (owner.returncode, out.strip()) == (0, "They dig."), err
    assert project.messages("s")[-1]["content"] == "I heard."
    assert (project.folder / "count").read_text() == "dug\n"


def test_the_host_of_a_lead_hears_of_an_agent_that_was_settled_elsewhere(lead: Any, spawn: Any) -> None:
    project = lead()
    owner = spawn("run", "lead.yaml", "Go", "-s", "s")
    project.until(lambda: (project.folder / "looking").exists())
    agent = waiting_free(project)["session"]
    assert "aborted here" in project.lousho("abort", agent).out
    (end,) = project.until(lambda: ends(project))
    assert (end["outcome"], owner.poll()) == ("aborted", None)
    let_go(project, "look")
    assert owner.wait(30) == 0
    owner.communicate()


def test_a_decision_that_is_only_recorded_names_the_lead_that_goes_on_with_it(lead: Any, spawn: Any) -> None:
    project = lead()
    owner = spawn("run", "lead.yaml", "Go", "-s", "s")
    project.until(lambda: (project.folder / "looking").exists())
    decided = project.lousho("approve", waiting_free(project)["id"], "--no-resume")
    assert (decided.code, "lousho follow s" in decided.err, "resume" in decided.err) == (0, True, False), decided
    let_go(project, "look")
    out, err = owner.communicate(timeout=30)
    assert (owner.returncode, out.strip()) == (0, "They dig."), err


def test_aborting_a_lead_that_nobody_drives_stops_its_agents(lead: Any) -> None:
    project = lead(looks=False)
    assert project.lousho("run", "lead.yaml", "Go", "-s", "s").code == 0
    agent = agent_of(project)["id"]
    done = project.lousho("abort", "s")
    assert (done.code, done.out) == (0, f"s does not run; its background agents were aborted: {agent}\n"), done
    assert (agent_of(project)["outcome"], project.lousho("pending", "--json").data) == ("aborted", [])
    (end,) = ends(project)
    assert (end["outcome"], end["error"], end["code"]) == ("aborted", LEAD_ABORTED_MESSAGE, "lead_aborted")
    assert project.lousho("resume", "--all").out == "nothing is pending\n"
    assert [message["content"] for message in project.messages("s") if message["role"] != "tool"][-2:] == [
        "They dig.",
        f"[background agent scout (one) was cancelled]\n{LEAD_ABORTED_MESSAGE}",
    ]
    assert project.lousho("abort", "s").out == "s: there is nothing to abort\n"


def test_an_abort_that_was_cut_off_is_gone_on_with(lead: Any) -> None:
    project = lead(looks=False)
    project.lousho("run", "lead.yaml", "Go", "-s", "s")
    asyncio.run(call_off_agents(FileStore(project.folder / ".lousho"), "s"))  # and here it was killed
    agent = agent_of(project)["id"]
    assert project.lousho("abort", "s", "--json").data["agents"] == [agent]
    assert agent_of(project)["outcome"] == "aborted"


@pytest.mark.parametrize(
    ("looks", "waits"), [(True, False), (False, False), (True, True)], ids=["both run", "the lead has ended", "the agent waits"]
)
def test_aborting_a_lead_that_another_drives_stops_its_agents_there(lead: Any, spawn: Any, looks: bool, waits: bool) -> None:
    project = lead(looks=looks, waits=waits)
    owner = spawn("run", "lead.yaml", "Go", "-s", "s")
    project.until(lambda: project.lousho("pending", "--json").data if waits else (project.folder / "digging").exists())
    project.until(lambda: not looks or (project.folder / "looking").exists())
    project.until(lambda: looks or b'"lousho.input_settled"' in project.log("s"))
    agent = agent_of(project)["id"]
    done = project.lousho("abort", "s", "--json").data
    assert (done["agents"], done.get("by")) == ([agent], "owner" if looks else None), done
    out, err = owner.communicate(timeout=30)
    assert owner.returncode == (130 if looks else 0), (out, err)
    listed = {one["id"]: one.get("outcome") for one in project.lousho("list", "--json").data}
    assert listed == {"s": "aborted" if looks else "completed", agent: "aborted"}
    assert [end["code"] for end in ends(project)] == ["lead_aborted"]
    assert "I heard." not in str(project.messages("s")) + out
    assert not (project.folder / "count").exists()
    assert project.lousho("resume", "--all").out == "nothing is pending\n"
