"""The policy of an agent file: permission rules, the mode, limits and prices, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.agent_schema import agent_file_json_schema
from lousho_cli.app.agent_tools import build_tools
from lousho_cli.app.preparing import Prepared, RunFlags, prepare
from lousho_cli.core.permissions import Rule
from lousho_cli.domain.prices import Price
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.pricing import pricing_of

PRICED = {"type": "scripted", "turns": ["hi"], "price": {"input": 2, "output": 8, "cached_input": 0.5, "cache_write": 2.5}}


def price_in(prepared: Prepared, model: str) -> Any:
    price_of = pricing_of(prepared.settings["prices"], None, None)
    return price_of(model) if price_of else None


def price_of_sub_agent(prepared: Prepared, name: str, model: str) -> Any:
    price_of = pricing_of(prepared.settings["subagents"][name].prices, None, None)
    return price_of(model) if price_of else None


def written(folder: Path, **fields: Any) -> Path:
    agent = {"name": "x", "prompt": "y", "provider": {"type": "scripted", "turns": ["hi"]}} | fields
    (folder / "agent.yaml").write_text(yaml.safe_dump(agent))
    return folder / "agent.yaml"


def test_rules_a_mode_and_limits_reach_the_run(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        provider=PRICED,
        tools=["shell", "read-file"],
        policy={
            "permissions": [
                {"tool": "shell", "when": {"command": "^ls"}, "action": "allow"},
                {"tool": "*", "action": "ask", "reason": "look first", "ttl": "30m"},
            ],
            "mode": "accept-edits",
            "limits": {"max_input_tokens": 10, "max_output_tokens": 20, "max_cost_usd": 1, "on_exceeded": "throw"},
        },
    )
    prepared = prepare(load_agent_file(path), RunFlags())
    policy, limits = prepared.facts.policy, prepared.facts.limits
    assert policy.rules == (Rule("shell", "allow", {"command": "^ls"}), Rule("*", "ask", reason="look first", ttl_ms=1_800_000))
    assert policy.mode == "accept-edits"
    assert limits is not None
    assert (limits.max_input_tokens, limits.max_output_tokens, limits.max_cost_usd, limits.on_exceeded) == (10, 20, 1, "throw")
    assert price_in(prepared, "scripted") == Price(2, 8, 0.5, 2.5)
    jsonschema.validate(yaml.safe_load(path.read_text()), agent_file_json_schema())


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"permissions": [{"tool": "shell"}]}, "policy.permissions.0.action: is required"),
        ({"permissions": [{"action": "ask"}]}, "policy.permissions.0.tool: is required"),
        ({"permissions": [{"tool": "shel", "action": "ask"}]}, "policy.permissions.0.tool: there is no tool shel; did you mean shell?"),
        (
            {"permissions": [{"tool": "shell", "action": "aks"}]},
            "policy.permissions.0.action: must be 'allow', 'ask' or 'deny'; did you mean ask?",
        ),
        ({"permissions": [{"tool": "shell", "action": "ask", "wehn": {}}]}, "policy.permissions.0.wehn: did you mean when?"),
        (
            {"permissions": [{"tool": "shell", "action": "ask", "when": {"command": "("}}]},
            "policy.permissions.0.when.command: is no regular",
        ),
        ({"permissions": [{"tool": "shell", "action": "ask", "when": {"command": 5}}]}, "policy.permissions.0.when.command: must be text"),
        ({"permissions": [{"tool": "shell", "action": "deny", "ttl": "3d"}]}, "policy.permissions.0.ttl: is for rules that ask"),
        ({"permissions": [{"tool": "shell", "action": "ask", "ttl": "soon"}]}, "policy.permissions.0.ttl: "),
        ({"permissions": {"tool": "shell"}}, "policy.permissions: must be a list"),
        ({"mode": "plna"}, "policy.mode: must be 'default', 'plan', 'dont-ask' or 'accept-edits'; did you mean plan?"),
        ({"limits": {"max_input_tokens": 0}}, "policy.limits.max_input_tokens: must be greater than or equal to 1"),
        ({"limits": {"on_exceeded": "die"}}, "policy.limits.on_exceeded: must be 'stop' or 'throw'"),
        ({"limits": {"max_cost": 1}}, "policy.limits.max_cost: did you mean max_cost_usd?"),
    ],
)
def test_a_wrong_field_is_named_by_its_path(tmp_path: Path, policy: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_agent_file(written(tmp_path, tools=["shell"], policy=policy))
    assert told in refused.value.detail


@pytest.mark.parametrize(
    ("price", "told"),
    [
        ({"input": 1}, "provider.price.output: is required"),
        ({"input": -1, "output": 1}, "provider.price.input: must be greater than or equal to 0"),
        ({"input": 1, "output": 1, "cached": 1}, "provider.price.cached: did you mean cached_input?"),
    ],
)
def test_a_wrong_price_is_named_by_its_path(tmp_path: Path, price: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_agent_file(written(tmp_path, provider={"type": "scripted", "turns": ["hi"], "price": price}))
    assert told in refused.value.detail


def test_a_rule_may_name_a_python_function_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def book(n: int) -> int:\n    return n\n")
    named = {"tools": [{"python": "tools.py:book"}], "policy": {"permissions": [{"tool": "book", "action": "ask"}]}}
    assert [tool.name for tool in build_tools(load_agent_file(written(tmp_path, **named)))] == ["book"]
    named["policy"] = {"permissions": [{"tool": "bok", "action": "ask"}]}
    with pytest.raises(ConfigurationError, match=r"policy\.permissions\.0\.tool: there is no tool bok; did you mean book\?"):
        build_tools(load_agent_file(written(tmp_path, **named)))


def test_which_tools_change_nothing(tmp_path: Path) -> None:
    tools = [
        *("ask-question", "current-date", "list-files", "read-file", "write-file", "shell", "http"),
        {"name": "look", "command": ["cat"], "read_only": True},
        {"name": "touch", "command": ["cat"]},
    ]
    made = {tool.name: tool for tool in build_tools(load_agent_file(written(tmp_path, tools=tools)))}
    assert [name for name, tool in made.items() if getattr(tool, "read_only", False)] == [
        "ask-question",
        "current-date",
        "list-files",
        "read-file",
        "look",
    ]
    assert [name for name, tool in made.items() if getattr(tool, "edits", False)] == ["write-file"]
    gated = {tool.name: tool for tool in build_tools(load_agent_file(written(tmp_path, tools=tools, policy={"requires_approval": True})))}
    assert getattr(gated["read-file"], "read_only", False)
    with pytest.raises(ConfigurationError, match=r"tools\.0\.read_only: is not for the built-in tool shell"):
        load_agent_file(written(tmp_path, tools=[{"name": "shell", "read_only": True}]))


@pytest.mark.parametrize(
    "provider", [{"type": "scripted", "turns": ["hi"]}, {"type": "openai", "model": "m", "price": {"input": 1, "output": 1}}]
)
def test_a_limit_in_money_needs_the_price_of_the_model_that_is_asked(tmp_path: Path, provider: Any) -> None:
    """A price speaks for the file's own model, not for one that is named in its place."""
    file = load_agent_file(written(tmp_path, provider=provider, policy={"limits": {"max_cost_usd": 1}}))
    flags = RunFlags(model="openai/other" if provider["type"] == "openai" else None)
    with pytest.raises(ConfigurationError) as refused:
        prepare(file, flags)
    assert (refused.value.code, refused.value.field) == ("LOUSHO_PRICE_UNKNOWN", "policy.limits.max_cost_usd")
    assert "provider.price" in refused.value.hint


def test_a_sub_agent_brings_its_own_rules_and_price(tmp_path: Path) -> None:
    scout = {"name": "scout", "prompt": "look", "provider": PRICED | {"model": "small"}, "tools": ["read-file"]}
    scout["policy"] = {"permissions": [{"tool": "read-file", "action": "deny"}], "mode": "plan"}
    (tmp_path / "scout.yaml").write_text(yaml.safe_dump(scout))
    lead = {"provider": PRICED, "subagents": {"scout": "scout.yaml"}, "policy": {"limits": {"max_cost_usd": 1}}}
    lead["policy"] |= {"permissions": [{"tool": "scout", "action": "ask"}]}
    prepared = prepare(load_agent_file(written(tmp_path, **lead)), RunFlags())
    assert price_in(prepared, "scripted") == price_of_sub_agent(prepared, "scout", "small") == Price(2, 8, 0.5, 2.5)
    assert price_in(prepared, "other") is None
    inner = prepared.facts.tools["scout"].facts  # type: ignore[attr-defined]
    assert [rule.tool for rule in inner.policy.rules] == ["scout", "read-file"]
    assert (inner.policy.mode, inner.limits.max_cost_usd) == ("plan", 1)


def test_a_model_of_the_same_name_elsewhere_has_not_the_same_price(tmp_path: Path) -> None:
    scouts = {"dear": PRICED | {"price": {"input": 9, "output": 9}}, "unknown": {"type": "scripted", "turns": ["ok"]}}
    for name, provider in scouts.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({"name": name, "prompt": "look", "provider": provider}))
    lead = {"provider": PRICED, "subagents": {name: f"{name}.yaml" for name in scouts}}
    prepared = prepare(load_agent_file(written(tmp_path, **lead)), RunFlags())
    assert price_in(prepared, "scripted") == Price(2, 8, 0.5, 2.5)
    assert price_of_sub_agent(prepared, "dear", "scripted") == Price(9, 9)
    assert price_of_sub_agent(prepared, "unknown", "scripted") is None
    other = written(tmp_path, provider={"type": "groq", "model": "m", "price": {"input": 1, "output": 2}})
    assert price_in(prepare(load_agent_file(other), RunFlags()), "m") == Price(1, 2)
    assert price_in(prepare(load_agent_file(other), RunFlags(model="together/m")), "m") is None


@pytest.mark.parametrize(("gated", "asks"), [(True, True), (["scout"], True), (["read-file"], False), (False, False)])
def test_requires_approval_holds_for_calls_of_a_sub_agent(tmp_path: Path, gated: Any, asks: bool) -> None:
    scout = {"name": "scout", "prompt": "look", "provider": {"type": "scripted", "turns": ["ok"]}}
    (tmp_path / "scout.yaml").write_text(yaml.safe_dump(scout))
    lead = written(tmp_path, tools=["read-file"], subagents={"scout": "scout.yaml"}, policy={"requires_approval": gated})
    prepared = prepare(load_agent_file(lead), RunFlags())
    assert prepared.facts.tools["scout"].needs_approval is asks
