"""Rules, modes, limits and sign-ins as a person at a command line meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

SIGN_IN = """
import os
from lousho_cli import AskPerson, SignInRequired

def calendar() -> str:
    if not os.path.exists("signed-in"):
        raise SignInRequired("https://calendar.example/login")
    return "today is free"

def paint(ctx) -> str:
    if ctx.answer is None:
        raise AskPerson("Which colour?", options=["red", "blue"], allow_free_text=False)
    return ctx.answer
"""


@pytest.fixture
def agent(folder: Path) -> Any:
    """Writes an agent file whose first answer makes these calls, and whose second says ``done``."""

    def write(*calls: Any, **fields: Any) -> None:
        made = [{"name": name, "args": args, "id": f"call_{number}"} for number, (name, args) in enumerate(calls, 1)]
        provider = {"type": "scripted", "turns": [{"tool_calls": made, "usage": {"input_tokens": 90, "output_tokens": 10}}, "done"]}
        provider |= fields.pop("provider", {})
        (folder / "tools.py").write_text(SIGN_IN)
        (folder / "agent.yaml").write_text(yaml.safe_dump({"name": "x", "prompt": "y", "provider": provider} | fields))

    return write


def results(lousho: Any, session: str = "x") -> dict[str, Any]:
    messages = lousho("show", session, "--json").data["messages"]
    return {m["tool_call_id"]: json.loads(m["content"]) for m in messages if m["role"] == "tool"}


def test_rules_decide_which_commands_run(lousho: Any, agent: Any) -> None:
    rules = [
        {"tool": "shell", "when": {"command": "^echo "}, "action": "allow"},
        {"tool": "shell", "when": {"command": "rm"}, "action": "deny", "reason": "nothing is removed here"},
        {"tool": "shell", "action": "ask", "reason": "unknown command", "ttl": "1h"},
    ]
    calls = [("shell", {"command": command}) for command in ("echo hi", "rm -r .", "true")]
    agent(*calls, tools=["shell"], policy={"permissions": rules, "tool_concurrency": 1})
    ran = lousho("run", "agent.yaml", "go")
    assert ran.code == 4
    assert "because unknown command" in ran.err
    assert "step 1: denied: shell, nothing is removed here" in ran.err
    (waits,) = lousho("pending", "--json").data
    assert (waits["args"], waits["reason"], waits["kind"]) == ({"command": "true"}, "unknown command", "tool")
    assert waits["expires_at"] > waits["created_at"]
    assert lousho("approve", "x").code == 0
    found = results(lousho)
    assert found["call_1"]["stdout"] == "hi\n"
    assert (found["call_2"]["kind"], found["call_2"]["reason"]) == ("denied", "nothing is removed here")
    assert found["call_3"]["exit_code"] == 0


def test_plan_mode_switched_on_meanwhile_denies_the_approved_call(lousho: Any, agent: Any, folder: Path) -> None:
    calls = [("write-file", {"path": "out.txt", "content": "x"})]
    agent(*calls, tools=["write-file"])
    assert lousho("run", "agent.yaml", "go").code == 4
    agent(*calls, tools=["write-file"], policy={"mode": "plan"})
    assert lousho("approve", "x").code == 0
    assert results(lousho)["call_1"]["kind"] == "denied"
    assert not (folder / "out.txt").exists()


def test_edits_are_accepted_and_questions_are_not_asked(lousho: Any, agent: Any, folder: Path) -> None:
    calls = [("write-file", {"path": "out.txt", "content": "x"}), ("shell", {"command": "true"})]
    agent(*calls, tools=["write-file", "shell"], policy={"mode": "accept-edits"})
    assert lousho("run", "agent.yaml", "go").code == 4
    assert (folder / "out.txt").read_text() == "x"
    agent(*calls, tools=["write-file", "shell"], policy={"mode": "dont-ask"})
    assert lousho("run", "agent.yaml", "go", "-s", "y").code == 0
    assert [found["kind"] for found in results(lousho, "y").values()] == ["denied", "denied"]


def test_a_limit_of_time_is_told_in_seconds(lousho: Any, agent: Any) -> None:
    agent(("shell", {"command": "sleep 20"}), tools=[{"name": "shell", "needs_approval": False}], durability={"timeout": "200ms"})
    ran = lousho("run", "agent.yaml", "go")
    assert (ran.code, "the run came to its limit of time of 0.2 s\n" in ran.err) == (9, True), ran


def test_a_sign_in_is_shown_and_decided_by_hand_alone(lousho: Any, agent: Any, folder: Path) -> None:
    agent(("calendar", {}), tools=[{"python": "tools.py:calendar"}])
    ran = lousho("run", "agent.yaml", "go", "--yes")
    assert ran.code == 4, "--yes approves calls, not that somebody has signed in"
    assert "waits for you to sign in: Sign in at https://calendar.example/login" in ran.err
    (waits,) = lousho("pending", "--json").data
    assert (waits["kind"], waits["url"], waits["tool"]) == ("sign-in", "https://calendar.example/login", "calendar")
    assert "https://calendar.example/login" in lousho("pending").out
    assert f"lousho approve {waits['id']}" in ran.err
    assert lousho("answer", waits["id"], "yes").code == 2
    (folder / "args.json").write_text("{}")
    assert lousho("approve", waits["id"], "--edit", "args.json").code == 2
    (folder / "signed-in").touch()
    assert lousho("approve", waits["id"]).code == 0
    assert results(lousho) == {"call_1": "today is free"}


def test_a_sign_in_may_be_turned_down(lousho: Any, agent: Any) -> None:
    agent(("calendar", {}), tools=[{"python": "tools.py:calendar"}])
    lousho("run", "agent.yaml", "go")
    assert lousho("reject", "x", "--reason", "no account").code == 0
    error = results(lousho)["call_1"]
    assert (error["kind"], error["note"]) == ("rejected", "no account")


def test_a_tools_own_question_is_answered_like_any_other(lousho: Any, agent: Any) -> None:
    agent(("paint", {}), tools=[{"python": "tools.py:paint"}])
    assert lousho("run", "agent.yaml", "go", "--yes").code == 4
    (waits,) = lousho("pending", "--json").data
    assert (waits["kind"], waits["question"], waits["options"]) == ("question", "Which colour?", ["red", "blue"])
    assert lousho("approve", waits["id"]).code == 2
    assert lousho("answer", waits["id"], "green").code == 2
    assert lousho("answer", waits["id"], "blue").code == 0
    assert results(lousho) == {"call_1": "blue"}


def test_money_that_is_spent_stops_before_the_tools(lousho: Any, agent: Any) -> None:
    priced = {"price": {"input": 1_000, "output": 10_000}}
    agent(("current-date", {}), tools=["current-date"], provider=priced, policy={"limits": {"max_cost_usd": 0.19}})
    ran = lousho("run", "agent.yaml", "go", "--json")
    assert (ran.code, ran.data["finish_reason"], ran.data["status"]) == (9, "budget-exceeded", "finished")
    assert (ran.data["budget"]["limit"], ran.data["usage"]["cost_usd"]) == ("max_cost_usd", 0.19)
    assert results(lousho)["call_1"]["kind"] == "not-run"
    assert lousho("show", "x", "--json").data["stop"]["limit"] == "max_cost_usd"


def test_a_limit_may_fail_the_run_instead(lousho: Any, agent: Any) -> None:
    agent(("current-date", {}), tools=["current-date"], policy={"limits": {"max_tokens": 50, "on_exceeded": "throw"}})
    ran = lousho("run", "agent.yaml", "go", "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["error"]["code"], document["data"]["outcome"]) == (9, "LOUSHO_BUDGET_EXCEEDED", "failed")
    agent(("current-date", {}), tools=["current-date"], policy={"limits": {"max_tokens": 5_000}})
    assert lousho("resume", "x").code == 0


def test_a_limit_in_money_without_a_price_is_refused(lousho: Any, agent: Any) -> None:
    agent(("current-date", {}), tools=["current-date"], policy={"limits": {"max_cost_usd": 1}})
    ran = lousho("run", "agent.yaml", "go")
    assert ran.code == 2
    assert "[LOUSHO_PRICE_UNKNOWN]" in ran.err
    assert lousho("list", "--json").data == []
