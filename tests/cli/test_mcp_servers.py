"""An agent with MCP servers at the command line: runs, pauses, drift, servers that fail, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen

from lousho_cli.tools.processes import start_time

ROOT = Path(__file__).parents[2]
RAW = ROOT / "tests" / "tools" / "mcp" / "raw_server.py"
NAMES = ("echo", "hangs", "dies", "asks_two")


class McpAgent:
    """An agent file with one server, written by hand, and the notes of that server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, *turns: Any, tools: Any = None, mode: str = "", server: Any = None, **further: Any) -> None:
        listed = tools or [{"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for name in NAMES]
        env = {"NOTES": str(self.folder / "notes"), "MODE": mode, "TOOLS": json.dumps(listed)}
        given = {"command": sys.executable, "args": ["-S", "-E", str(RAW)], "env": env} | (server or {})
        agent = {"name": "mcp", "prompt": "p", "provider": {"type": "scripted", "turns": list(turns)}, "mcp_servers": {"fs": given}}
        (self.folder / "agent.json").write_text(json.dumps(agent | further))

    @property
    def notes(self) -> list[str]:
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def pids(self) -> list[int]:
        return [int(line.removeprefix("pid ")) for line in self.notes if line.startswith("pid ")]

    def all_ended(self) -> bool:
        return not any(start_time(pid) for pid in self.pids)


def calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"text": "", "tool_calls": [{"name": f"fs__{name}", "args": args, "id": f"c{at}"} for at, (name, args) in enumerate(named)]}


@pytest.fixture
def agent(folder: Path) -> McpAgent:
    return McpAgent(folder)


def contents(lousho: Any, session: str = "mcp") -> list[str]:
    return [message["content"] for message in lousho("show", session, "--json").data["messages"] if message["role"] == "tool"]


def test_a_run_calls_tools_of_its_server_and_closes_it(agent: McpAgent, lousho: Any) -> None:
    agent.write(calls(("echo", {"a": 1}), ("dies", {}), ("echo", {"b": 2})), "done", policy={"tool_concurrency": 1})
    ran = lousho("run", "agent.json", "go", "--json")
    assert (ran.code, ran.data["text"]) == (0, "done")
    first, died, again = map(json.loads, contents(lousho))
    assert (first, again) == ('{"echo": {"a": 1}}', '{"echo": {"b": 2}}')
    assert (died["error"], died["kind"], died["toolName"]) == ("McpToolError", "mcp", "fs__dies")
    assert died["message"].startswith(
        "the MCP server fs is gone: its connection was closed; it ended with exit code 7; it said: cannot open"
    )
    assert len(agent.pids) == 2
    assert agent.all_ended()


def test_a_server_that_can_not_be_started_fails_the_run_before_anything(agent: McpAgent, lousho: Any) -> None:
    agent.write("never said", server={"command": "no-such-program"})
    ran = lousho("run", "agent.json", "go", "--json")
    error = json.loads(ran.out)["error"]
    assert (ran.code, error["code"]) == (1, "LOUSHO_MCP_SERVER_FAILED")
    assert "the MCP server fs can not be used: can not start no-such-program" in error["message"]
    assert lousho("list", "--json").data == []


def test_without_the_extra_the_install_line_is_told(agent: McpAgent, lousho: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.write("never said")
    monkeypatch.setattr("lousho_cli.tools.mcp.opening.find_spec", lambda name: None)
    ran = lousho("run", "agent.json", "go")
    assert ran.code == 2
    assert "LOUSHO_EXTRA_MISSING" in ran.err
    assert "pip install 'lousho[mcp]'" in ran.err


def test_reading_starts_no_server(agent: McpAgent, lousho: Any) -> None:
    agent.write("done")
    assert lousho("run", "agent.json", "go").code == 0
    for args in (("list",), ("show", "mcp"), ("history", "mcp"), ("pending",), ("fork", "mcp", "--from-step", "1", "-q")):
        assert lousho(*args).code == 0
    assert len(agent.pids) == 1


def test_what_a_tool_says_of_itself_decides_who_is_asked(agent: McpAgent, lousho: Any) -> None:
    listed = [{"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}]
    agent.write(calls(("wipe", {"all": True})), "done", tools=listed)
    ran = lousho("run", "agent.json", "go", "--json")
    assert ran.code == 4
    assert "call wipe" not in agent.notes
    assert lousho("approve", "mcp").code == 0
    assert agent.notes.count("call wipe") == 1


def test_a_policy_gates_tools_of_servers(agent: McpAgent, lousho: Any) -> None:
    agent.write(calls(("echo", {})), "done", policy={"requires_approval": ["fs__echo"]})
    assert lousho("run", "agent.json", "go").code == 4
    agent.write(calls(("echo", {})), "done", policy={"requires_approval": ["fs__eco"]})
    ran = lousho("resume", "mcp")
    assert ran.code == 2
    assert "policy.requires_approval.0" in ran.err
    assert "did you mean fs__echo?" in ran.err


def test_a_changed_list_is_drift_and_a_tool_that_vanished_is_missing(agent: McpAgent, lousho: Any) -> None:
    def tool(name: str, **properties: Any) -> dict[str, Any]:
        return {"name": name, "inputSchema": {"type": "object", "properties": properties}, "annotations": {"destructiveHint": True}}

    agent.write(calls(("wipe", {})), "done", tools=[tool("wipe"), tool("other")])
    assert lousho("run", "agent.json", "go").code == 4
    assert lousho("drift", "--json").data[0]["verdict"] == "none"
    agent.write(calls(("wipe", {})), "done", tools=[tool("wipe", path={"type": "string"}), tool("more")])
    drift = lousho("drift", "--json").data[0]["drift"]
    assert drift["tools_changed"] == ["fs__wipe"]
    assert (drift["tools_added"], drift["tools_removed"]) == (["fs__more"], ["fs__other"])
    before = len(agent.pids)
    assert lousho("fork", "mcp", "--from-step", "1", "-q").code == 0
    assert len(lousho("drift", "--json").data) == 2
    assert len(agent.pids) == before + 1, "an agent's servers are started once for all of its sessions"
    agent.write(calls(("wipe", {})), "done", tools=[tool("other")])
    assert lousho("resume", "mcp", "--check").code == 6
    ran = lousho("approve", "mcp")
    assert ran.code == 6
    assert "fs__wipe" in ran.err
    assert "LOUSHO_RESUME_TOOL_MISSING" in ran.err


def test_what_a_server_asks_waits_for_an_answer_and_then_the_call_goes_on(agent: McpAgent, lousho: Any) -> None:
    agent.write(calls(("asks_two", {})), "done", mode="modern-only")
    assert lousho("run", "agent.json", "go").code == 4
    (item,) = lousho("pending", "--json").data
    assert item["kind"] == "question"
    assert "The MCP server fs asks: Say it" in item["question"]
    assert lousho("answer", "mcp", '{"x": "one"}').code == 4
    done = lousho("answer", "mcp", "two", "--json")
    assert (done.code, done.data["text"]) == (0, "done")
    assert '\\"x\\": \\"one\\"' in contents(lousho)[0]
    assert '\\"x\\": \\"two\\"' in contents(lousho)[0]


def test_who_rejects_what_a_server_asks_tells_the_model_so(agent: McpAgent, lousho: Any) -> None:
    agent.write(calls(("asks_two", {})), "done", mode="modern-only")
    assert lousho("run", "agent.json", "go").code == 4
    assert lousho("reject", "mcp").code == 0
    assert json.loads(contents(lousho)[0])["kind"] == "rejected"
    assert agent.notes.count("call asks_two") == 1


def test_a_sub_agent_has_servers_of_its_own(agent: McpAgent, lousho: Any, folder: Path) -> None:
    agent.write(calls(("echo", {"in": "sub"})), "sub done")
    (folder / "sub.json").write_text((folder / "agent.json").read_text())
    turn = {"text": "", "tool_calls": [{"name": "scout", "args": {"input": "go"}, "id": "s1"}]}
    lead = {"name": "lead", "prompt": "p", "provider": {"type": "scripted", "turns": [turn, "done"]}, "subagents": {"scout": "sub.json"}}
    (folder / "lead.json").write_text(json.dumps(lead))
    ran = lousho("run", "lead.json", "go", "--json")
    assert (ran.code, ran.data["text"]) == (0, "done")
    assert "call echo" in agent.notes
    assert agent.all_ended()


def test_a_fork_that_goes_on_has_its_servers(agent: McpAgent, lousho: Any) -> None:
    agent.write(calls(("echo", {"a": 1}), ("echo", {"b": 2})), "done")
    assert lousho("run", "agent.json", "go").code == 0
    ran = lousho("fork", "mcp", "--from-step", "1", "--tool-result", 'c0="mine"', "--run", "--json")
    assert (ran.code, ran.data["text"]) == (0, "done")
    assert list(map(json.loads, contents(lousho, "mcp.fork-1"))) == ["mine", '{"echo": {"b": 2}}']
    assert agent.all_ended()


def test_a_server_that_can_not_be_started_keeps_drift_from_no_other_session(agent: McpAgent, lousho: Any) -> None:
    agent.write(calls(("wipe", {})), "done", tools=[{"name": "wipe", "inputSchema": {"type": "object"}}])
    assert lousho("run", "agent.json", "go").code == 4
    agent.write("x", server={"command": "no-such-program"})
    found = lousho("drift", "--json")
    assert (found.code, found.data[0]["verdict"]) == (0, "no-agent")
    assert "the MCP server fs can not be used" in found.data[0]["reason"]


@pytest.fixture
def hanging(agent: McpAgent, folder: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """A run in a process of its own, in the middle of a call."""

    def start(mode: str = "") -> subprocess.Popen[bytes]:
        agent.write(calls(("hangs", {})), "done", mode=mode)
        command = [sys.executable, "-m", "lousho_cli", "run", "agent.json", "go"]
        ran = Popen(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _until(lambda: "call hangs" in agent.notes)
        return ran

    return start


def _until(fact: Callable[[], Any]) -> None:
    import time

    end = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_a_killed_run_leaves_no_server_behind(agent: McpAgent, hanging: Any) -> None:
    ran = hanging("stays")  # with one that ends by itself neither at the end of its input nor when asked to
    ran.kill()
    ran.communicate()
    assert len(agent.pids) == 2
    _until(agent.all_ended)


def test_ctrl_c_cancels_the_call_at_the_server(agent: McpAgent, hanging: Any, lousho: Any) -> None:
    ran = hanging()
    ran.send_signal(signal.SIGINT)
    _, err = ran.communicate(timeout=20)
    assert ran.returncode == 130, err
    assert b"Traceback" not in err
    assert "notifications/cancelled" in agent.notes
    assert agent.all_ended()
    assert json.loads(contents(lousho)[0])["kind"] == "not-run"
