"""Permission rules, modes and the time a person may take, in whole runs."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lousho_cli import Rule
from lousho_cli.domain import records as r
from lousho_cli.domain import texts
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.events import PermissionDecision
from lousho_cli.executor.sub_agents import SubAgent


async def pending(stores: Any, approval_id: str) -> PendingApproval:
    """What waits, as its store gives it."""
    found = await stores.approvals.resolve(approval_id)
    return msgspec.convert(found["pending"], PendingApproval) if isinstance(found, dict) else found.pending


async def test_each_action_of_a_rule(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    rules = [
        {"tool": "pay", "when": {"n": "^[1-9]$"}, "action": "allow"},
        {"tool": "pay", "when": {"n": "..."}, "action": "deny", "reason": "too dear"},
        Rule("*", "ask", reason="not small"),
    ]
    calls = bench.Calls(("pay", {"n": 5}), ("pay", {"n": 500}), ("pay", {"n": 50}))
    paused = await bench.run(store, bench.Model(calls), box.tools, permissions=rules)
    assert (paused.finish_reason, box.log) == ("awaiting-approval", [("pay", {"n": 5}, "c1")])
    denied = bench.result(paused.messages, "c2")
    assert (denied["kind"], denied["reason"]) == ("denied", "too dear")
    waits = await pending(store.again(), paused.approval_id)
    assert (waits.tool_call_id, waits.args, waits.reason) == ("c3", {"n": 50}, "not small")


@pytest.mark.parametrize(
    ("rule_ttl", "run_ttl", "expires"),
    [
        (1_000, 60_000, "2026-01-01T00:00:01.000Z"),
        (None, 60_000, "2026-01-01T00:01:00.000Z"),
        (1_000, None, "2026-01-01T00:00:01.000Z"),
        (None, None, None),
    ],
)
async def test_de_072_the_rules_time_beats_that_of_the_run(
    store: Any, bench: Any, box: Any, clock: Any, rule_ttl: Any, run_ttl: Any, expires: Any
) -> None:
    box.tool("pay")
    rules = [Rule("pay", "ask", ttl_ms=rule_ttl)]
    approval_id = await bench.paused(store, box, "pay", permissions=rules, approval_ttl_ms=run_ttl, clock=clock)
    assert (await pending(store.again(), approval_id)).expires_at == expires


async def test_de_072_a_decision_past_the_rules_time_denies(store: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("pay")
    rules = [Rule("pay", "ask", ttl_ms=1_000)]
    approval_id = await bench.paused(store, box, "pay", permissions=rules, approval_ttl_ms=10**9, clock=clock)
    clock.ms += 1_001
    options = {"clock": clock, "permissions": rules}
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "late"), box.tools, options=options)
    error = bench.result(result.messages, "c1")
    assert (error["kind"], error["message"], box.ran) == ("denied", texts.EXPIRED_TOOL_RESULT, [])


async def test_several_gated_calls_of_one_turn_are_decided_one_by_one(store: Any, bench: Any, box: Any) -> None:
    """Each under an id of its own, bound to its own arguments, whoever decides in whatever process."""
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, ("pay", {"n": 1}), ("pay", {"n": 2}), ("pay", {"n": 3}))
    ids, model = [approval_id], bench.Model(None, "done")
    for decision in ({"approved": True}, {"approved": False, "note": "no"}, {"approved": True, "args": {"n": 30}}):
        result = await bench.decide(store.again(), {"id": ids[-1], **decision}, model, box.tools)
        if result.approval_id:
            ids.append(result.approval_id)
            assert model.asked == []
    assert len(set(ids)) == 3
    assert box.log == [("pay", {"n": 1}, "c1"), ("pay", {"n": 30}, "c3")]
    assert bench.result(result.messages, "c2")["kind"] == "rejected"
    assert (result.text, len(model.asked)) == ("done", 1)


async def test_plan_mode_denies_what_changes_something(store: Any, bench: Any, box: Any) -> None:
    box.tool("look", read_only=True)
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls("look", "book"), "a plan"), box.tools, permission_mode="plan")
    assert (result.text, box.ran) == ("a plan", ["c1"])
    assert bench.result(result.messages, "c2")["kind"] == "denied"


async def test_plan_mode_switched_on_meanwhile_denies_the_approved_call(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    options = {"permission_mode": "plan"}
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "ok"), box.tools, options=options)
    assert (bench.result(result.messages, "c1")["kind"], box.ran, result.text) == ("denied", [], "ok")


async def test_dont_ask_denies_what_would_pause(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=lambda args: "ask")
    result = await bench.run(store, bench.Model(bench.Calls("pay", "book"), "done"), box.tools, permission_mode="dont-ask")
    assert (result.text, box.ran, bench.result(result.messages, "c1")["kind"]) == ("done", ["c2"], "denied")


async def test_accept_edits_skips_the_pause_of_tools_that_edit(store: Any, bench: Any, box: Any) -> None:
    box.tool("write", needs_approval=True, edits=True)
    box.tool("pay", needs_approval=True)
    result = await bench.run(store, bench.Model(bench.Calls("write", "pay")), box.tools, permission_mode="accept-edits")
    assert (result.finish_reason, box.ran) == ("awaiting-approval", ["c1"])


@pytest.mark.parametrize("reports", [False, True])
async def test_what_was_decided_is_recorded_beside_what_follows_and_told(log_stores: Any, bench: Any, box: Any, reports: bool) -> None:
    box.tool("pay")
    events: list[Any] = []
    rules = [
        {"tool": "pay", "when": {"n": "^1$"}, "action": "allow"},
        {"tool": "pay", "when": {"n": "^2$"}, "action": "deny", "reason": "two"},
        {"tool": "pay", "when": {"n": "^3$"}, "action": "ask"},
    ]
    hooks = [{"post_tool": lambda result: None}] if reports else []
    calls = bench.Calls(*[("pay", {"n": n}) for n in (1, 2, 3)])
    await bench.run(log_stores, bench.Model(calls), box.tools, permissions=rules, hooks=hooks, on_event=events.append)
    told = [(e.id, e.name, e.action, e.source, e.reason) for e in events if isinstance(e, PermissionDecision)]
    assert sorted(told) == [("c1", "pay", "allow", "rule", ""), ("c2", "pay", "deny", "rule", "two"), ("c3", "pay", "ask", "rule", "")]
    batches = (await log_stores.again().log_store.read("s")).batches
    kinds = [[type(record).__name__ for record in batch.records] for batch in batches]
    assert sum(kind.count("PermissionDecided") for kind in kinds) == 3
    assert next(kind for kind in kinds if "WaitOpened" in kind) == ["PermissionDecided", "WaitOpened", "Mark"]
    records = [record for batch in batches for record in batch.records]
    allowed = next(i for i, x in enumerate(records) if isinstance(x, r.PermissionDecided) and x.id == "c1")
    assert records[allowed + 1] == r.ToolStarted("c1")


# Sub-agents


async def test_the_leads_rules_come_first_for_a_sub_agent_and_its_mode_holds(store: Any, bench: Any) -> None:
    box = bench.Box()
    tools = [box.tool("pay"), box.tool("look", read_only=True)]
    child = bench.Model(bench.Calls(("pay", {"n": 1}), ("pay", {"n": 2}), "look"), "found")
    sub = {
        "scout": SubAgent(
            {"name": "scout"}, provider=child, tools=tools, permissions=[Rule("pay", "allow"), Rule("*", "deny", reason="own")]
        )
    }
    rules = [Rule("pay", "deny", when={"n": "^1$"}, reason="lead's")]
    await bench.run(store, bench.Model(bench.Calls(("scout", {"input": "go"})), "ok"), subagents=sub, permissions=rules)
    results = {m.tool_call_id: json.loads(m.text) for m in child.asked[1] if m.role == "tool"}
    assert (results["c1"]["reason"], results["c2"], results["c3"]["reason"]) == ("lead's", "pay", "own")


async def test_hooks_and_guardrails_of_the_lead_hold_for_its_sub_agents(store: Any, bench: Any) -> None:
    box = bench.Box()
    tools = [box.tool("pay")]
    child = bench.Model(bench.Calls(("pay", {"n": 1})), "paid")
    lead = bench.Model(bench.Calls(("scout", {"input": "go"})), "ok")
    seen: list[str] = []

    def hook(call: Any) -> Any:
        seen.append(call.tool_name)
        return {"input": {"n": 7}} if call.tool_name == "pay" else None

    told: list[Any] = []
    hooks = [{"pre_tool": hook, "post_tool": lambda result: told.append((result.tool_name, result.result)), "on_run_end": told.append}]
    await bench.run(store, lead, subagents={"scout": SubAgent({"name": "scout"}, provider=child, tools=tools)}, hooks=hooks)
    assert (seen, box.log[0][1]) == (["scout", "pay"], {"n": 7})
    assert told[:2] == [("pay", "pay"), ("scout", "paid")]
    assert len(told) == 3


async def test_a_hook_that_fails_inside_a_sub_agent_stops_the_run(store: Any, bench: Any) -> None:
    from lousho_cli.errors import HookError

    box = bench.Box()
    child = bench.Model(bench.Calls("pay"), "paid")
    lead = bench.Model(bench.Calls(("scout", {"input": "go"})), "ok")
    sub = {"scout": SubAgent({"name": "scout"}, provider=child, tools=[box.tool("pay")])}

    def hook(call: Any) -> None:
        if call.tool_name == "pay":
            raise ValueError("broke")

    with pytest.raises(HookError):
        await bench.run(store, lead, subagents=sub, hooks=[{"name": "mine", "pre_tool": hook}])
    result = await bench.run(store.again(), lead, [], [], subagents=sub)
    assert (result.text, len(box.ran)) == ("ok", 1)


async def test_a_tool_of_a_sub_agent_may_ask(store: Any, bench: Any) -> None:
    from lousho_cli import AskPerson

    box = bench.Box()

    def body(args: Any, ctx: Any) -> Any:
        if ctx.answer is None:
            raise AskPerson("Which colour?")
        return ctx.answer

    child = bench.Model(bench.Calls("paint"), "painted")
    lead = bench.Model(bench.Calls(("scout", {"input": "go"})), "ok")
    sub = {"scout": SubAgent({"name": "scout"}, provider=child, tools=[box.tool("paint", body)])}
    paused = await bench.run(store, lead, subagents=sub)
    assert paused.finish_reason == "awaiting-approval"
    decision = {"id": paused.approval_id, "approved": True, "note": "red"}
    result = await bench.decide(store.again(), decision, lead, options={"subagents": sub})
    assert (result.text, json.loads(child.asked[1][-1].text)) == ("ok", "red")


async def test_what_sub_agents_cost_counts_for_the_lead(store: Any, bench: Any) -> None:
    from lousho_cli import Price
    from lousho_cli.domain.stops import Spent

    child = bench.Model("found", model="small")
    lead = bench.Model(bench.Calls(("scout", {"input": "go"})), "never")
    sub = {"scout": SubAgent({"name": "scout"}, provider=child, max_tokens=10**6)}
    prices = {"m-1": Price(0, 0), "small": Price(0, 1_000_000)}
    result = await bench.run(store, lead, subagents=sub, prices=prices, max_cost_usd=5)
    assert (result.finish_reason, result.budget) == ("budget-exceeded", Spent("max_cost_usd", 5.0, 5))
