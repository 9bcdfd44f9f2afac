"""drift: stored sessions held against their agents of today; nothing runs and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((folder / ".lousho").rglob("*")) if path.is_file()}


@pytest.fixture
def stopped(project: Any, lousho: Any) -> None:
    """Session ``s``: its call of ``gated`` waits for a person, that of ``b`` comes behind it."""
    project.write([*["gated", "b"]], "done", tools=["gated", "b"], gated=["gated"])
    assert project.run("Go", "-s", "s").code == 4


def _one(lousho: Any, *args: str) -> Any:
    (found,) = lousho("drift", *args, "--json").data
    return found


def test_the_same_agent_is_the_same(project: Any, lousho: Any, stopped: None, folder: Path) -> None:
    before = _bytes(folder)
    ran = lousho("drift", "--json")
    assert ran.code == 0
    (found,) = ran.data
    approval = lousho("pending", "--json").data[0]["id"]
    assert found == {
        "session": "s",
        "agent": "project",
        "status": "awaiting-approval",
        "verdict": "none",
        "mode": "warn",
        "waits_for": approval,
    }
    assert "same" in lousho("drift").out
    assert _bytes(folder) == before
    assert project.counts == {}


def test_each_part_that_changed_is_named(project: Any, lousho: Any, stopped: None, folder: Path) -> None:
    project.write(["gated", "b"], "done", tools=["gated", "b", "c"], gated=["gated"])
    before = _bytes(folder)
    found = _one(lousho)
    assert (found["verdict"], found["drift"]) == ("warn", {"tools_added": ["c"]})
    text = lousho("drift")
    assert text.code == 0
    assert "would warn" in text.out
    assert "tools added: c" in text.out
    assert lousho("drift", "-q").out == "s warn\n"
    assert _bytes(folder) == before


def test_what_would_be_refused_is_exit_6(project: Any, lousho: Any, stopped: None) -> None:
    project.write(["gated", "b"], "done", tools=["gated", "b", "c"], gated=["gated"])
    ran = lousho("drift", "--on-drift", "error", "--json")
    assert (ran.code, ran.data[0]["verdict"], ran.data[0]["mode"]) == (6, "refuse", "error")
    assert "would refuse" in lousho("drift", "--on-drift", "error").out
    ignored = lousho("drift", "--on-drift", "ignore", "--json")
    assert (ignored.code, ignored.data[0]["verdict"]) == (0, "changed")
    assert ignored.data[0]["drift"] == {"tools_added": ["c"]}
    project.write(["gated", "b"], "done", tools=["gated", "b", "c"], gated=["gated"], policy={"on_agent_drift": "error"})
    assert lousho("drift").code == 6


def test_a_pending_call_whose_tool_is_gone_is_refused_and_named(project: Any, lousho: Any, stopped: None) -> None:
    project.write(["gated", "b"], "done", tools=["gated"], gated=["gated"])
    ran = lousho("drift", "--on-drift", "ignore", "--json")
    assert (ran.code, ran.data[0]["verdict"], ran.data[0]["missing_tools"]) == (6, "refuse", ["b"])
    assert ran.data[0]["drift"] == {"tools_removed": ["b"]}
    assert "a pending call needs b, which is gone" in lousho("drift").out
    assert lousho("resume", "s", "--check").code == 6


def test_without_names_it_is_every_session_that_did_not_end(lousho: Any, store: Any, trip: Any, waiting: Any) -> None:
    assert lousho("drift", "--json").data == []
    assert "no session" in lousho("drift").out
    store("ended", trip())
    store("open", trip()[:2], at="2026-01-03T03:04:05.000Z")
    store("booking", waiting())
    lousho("run", "trip", "-s", "cleared")
    lousho("delete", "cleared", "--keep-history", "--yes")
    assert [found["session"] for found in lousho("drift", "--json").data] == ["open", "booking"]
    named = lousho("drift", "ended", "boo", "ended", "--json")
    assert [found["session"] for found in named.data] == ["ended", "booking"]
    assert lousho("drift", "nothing").code == 3


def test_an_ended_session_only_differs(lousho: Any, store: Any, trip: Any) -> None:
    """Its next input begins a run of its own, with the agent as it is then: nobody is warned, nothing refused."""
    store("ended", trip())
    ran = lousho("drift", "ended", "--on-drift", "error", "--json")
    assert (ran.code, ran.data[0]["verdict"], ran.data[0]["status"]) == (0, "changed", "finished")
    assert ran.data[0]["drift"]["model"] == {"to": "scripted"}


def test_a_session_whose_agent_is_gone_is_told_and_the_rest_is_compared(project: Any, lousho: Any, stopped: None, folder: Path) -> None:
    lousho("run", "booking", "-s", "book")
    (folder / "agent.py").unlink()
    ran = lousho("drift", "--json")
    assert ran.code == 0
    found = {one["session"]: one for one in ran.data}
    assert (found["s"]["verdict"], found["book"]["verdict"]) == ("no-agent", "none")
    assert "can not be found" in found["s"]["reason"]
    assert "can not be found" in json.loads(ran.out)["warnings"][0]
    assert "warning: session s: the agent project of session s can not be found" in lousho("drift").err
    assert "no agent" in lousho("drift").out
    assert lousho("drift", "--agent", "nothing.yaml").code == 2


AGENT = {
    "name": "remote",
    "prompt": "Be brief.",
    "provider": {"type": "openai", "model": "gpt-1", "base_url": "https://models.example.org/v1"},
    "tools": ["current-date"],
}


def test_no_key_is_needed_and_every_kind_of_agent_is_found(lousho: Any, store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lousho_cli.app.preparing import RunFlags, prepare
    from lousho_cli.app.targets import resolve_target
    from lousho_cli.domain import records as r
    from lousho_cli.domain.messages import user

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "agents").mkdir()
    file = folder / "agents" / "remote.yaml"
    file.write_text(yaml.safe_dump(AGENT))
    facts = prepare(resolve_target(str(file), folder).agent, RunFlags()).facts
    begun = (r.Created("remote"), r.InputReceived("i", (user("hi"),)), r.InputApplied("i"))
    run = r.RunStarted("i", fingerprint=facts.begin.fingerprint, offered=("current-date",), agent_id="remote")
    store("far", [[*begun, run]])
    assert _one(lousho, "--agents", "agents")["verdict"] == "none"
    file.write_text(yaml.safe_dump(AGENT | {"prompt": "Be long.", "tools": []}))
    changed = {"tools_removed": ["current-date"], "instructions": True}
    for named in (["--agents", "agents"], ["far", "--agent", "agents/remote.yaml"]):
        found = _one(lousho, *named)
        assert (found["verdict"], found["drift"]) == ("warn", changed)
    found = _one(lousho, "--agents", "agents", "--model", "openai/gpt-2")
    assert found["drift"] == changed | {"model": {"from": "gpt-1", "to": "gpt-2"}}
    assert _one(lousho)["verdict"] == "no-agent"


def test_what_a_module_prints_is_not_in_the_answer(project: Any, lousho: Any, stopped: None, folder: Path) -> None:
    agent = folder / "agent.py"
    agent.write_text(agent.read_text() + '\nprint("hello from the module")\n')
    assert [found["session"] for found in lousho("drift", "--json").data] == ["s"]


def test_a_damaged_or_newer_session_is_left_out_and_named(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    from lousho_cli.domain.records import Foreign

    store("newer", [*trip()[:2], [Foreign("lousho.future", b'{"type":"lousho.future"}')]])
    store("open", trip()[:2])
    store("torn", trip()[:4])
    log = folder / ".lousho/sessions/torn/log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], *lines[2:]]))
    ran = lousho("drift", "--json")
    assert (ran.code, [found["session"] for found in ran.data]) == (0, ["open"])
    assert "session newer was left out" in ran.err
    assert "session torn was left out" in ran.err
    assert lousho("drift", "torn").code == 7
    assert lousho("drift", "newer").code == 7
