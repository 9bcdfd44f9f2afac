"""Tokens and money as a person sees them: at the end of a run, and in show, list, history and diff."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from lousho_cli.cli.render.usage import Tally, columns, dollars, in_short
from lousho_cli.domain.usage import CallUsage

PRICE = {"input": 2, "output": 8, "cached_input": 0.5, "cache_write": 2.5}
USED = {"input_tokens": 100, "output_tokens": 20, "cached_input_tokens": 40, "cache_write_tokens": 10, "reasoning_tokens": 5}
COST = (50 * 2 + 40 * 0.5 + 10 * 2.5 + 20 * 8) / 1e6

MODULE = """
from lousho_cli import Message, Answer
from lousho_cli.domain.usage import CallUsage

class Far:
    name, model, address = "far", "gpt-5-mini", "https://api.openai.com/v1"

    async def stream(self, request):
        yield Answer(Message("assistant", "done"), usage=CallUsage(4000, 100, 1000, 0, None, 0))

class Near(Far):
    address = "http://127.0.0.1:11434/v1"

far = {"name": "far", "prompt": "p", "provider": Far()}
near = {"name": "near", "prompt": "p", "provider": Near()}
limited = {**near, "policy": {"limits": {"max_cost_usd": 1}}}
"""
FAR = "$0.0010"


@pytest.fixture
def agent(folder: Any) -> Any:
    """Writes an agent file of a scripted model that has a price, unless ``price`` is None."""

    def write(*turns: Any, price: Any = PRICE, **fields: Any) -> None:
        provider = {"type": "scripted", "turns": list(turns), "model": "m"} | ({"price": price} if price else {})
        (folder / "a.yaml").write_text(json.dumps({"name": "a", "prompt": "p", "provider": provider, "tools": ["current-date"]} | fields))

    return write


DONE = {"text": "done", "usage": USED}
TWO = ({"tool_calls": [{"name": "current-date"}], "usage": USED}, DONE)
"""Two steps, and one for each message after that."""


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "unknown"),
        (0.0, "$0"),
        (0.00001, "<$0.0001"),
        (0.0012, "$0.0012"),
        (0.99994, "$0.9999"),
        (0.99999, "$1.00"),
        (12.3, "$12.30"),
        (1234.567, "$1234.57"),
    ],
)
def test_an_amount(cost: float | None, text: str) -> None:
    assert dollars(cost) == text
    assert dollars(cost, estimated=True) == ("unknown" if cost is None else f"~{text}")


def test_what_is_estimated_is_marked_and_nothing_is_a_dash() -> None:
    used = SimpleNamespace(total_tokens=120, model_calls=1, estimated=True, cost_usd=0.0012, cached_input_tokens=None)
    assert (in_short(used), columns(used)) == ("~120 tokens, ~$0.0012", ("~120", "~$0.0012"))
    assert columns(SimpleNamespace(model_calls=0)) == ("-", "-")


def test_what_a_running_run_has_used() -> None:
    tally = Tally()
    assert tally.so_far() == ""
    tally.add(CallUsage(100, 20, cost_usd=0.5))
    assert tally.so_far() == " (120 tokens, $0.5000 so far)"
    tally.add(None)
    assert tally.so_far() == " (~120 tokens so far)"


def test_the_end_of_a_run_says_what_it_used(lousho: Any, agent: Any) -> None:
    agent(*TWO, DONE, DONE)
    ran = lousho("run", "a.yaml", "go", "-s", "s")
    assert ran.err.splitlines()[-2:] == ["s: 2 steps, 240 tokens (80 cached), $0.0006", 'lousho resume s "…"']
    again = lousho("resume", "s", "more", "--json")
    assert (again.data["usage"]["model_calls"], again.err.splitlines()[-2]) == (1, "s: 1 step, 120 tokens (40 cached), $0.0003")
    quiet = lousho("resume", "s", "more", "-q")
    assert (quiet.out, quiet.err) == ("done\n", "")


def test_every_count_is_in_the_json_and_the_parts_are_in_show(lousho: Any, agent: Any) -> None:
    agent(*TWO, DONE, DONE)
    lousho("run", "a.yaml", "go", "-s", "s")
    lousho("resume", "s", "more")
    shown = lousho("show", "s", "--json").data
    (step,) = shown["step_usage"]
    assert {name: step[name] for name in USED} == USED
    assert (step["model"], step["estimated"], step["cost_usd"]) == ("m", False, pytest.approx(COST))
    assert {name: shown["usage"][name] for name in USED} == USED
    assert {name: shown["session_usage"][name] for name in USED} == {name: 3 * count for name, count in USED.items()}
    assert shown["session_usage"]["cost_usd"] == pytest.approx(3 * COST)
    assert shown["usage"]["by_model"]["m"] | {"cost_usd": 0} == USED | {"calls": 1, "estimated": False, "cost_usd": 0}
    text = lousho("show", "s").out
    assert "usage:       100 in (40 cached, 10 cache-written), 20 out (5 reasoning), 1 call, $0.0003\n" in text
    assert "all runs:    300 in (120 cached, 30 cache-written), 60 out (15 reasoning), 3 calls, $0.0009\n" in text
    assert len(lousho("show", "s@1/2", "--json").data["step_usage"]) == 2
    newest, *_, oldest = lousho("history", "s", "--json").data
    assert (newest["usage"]["total_tokens"], oldest["usage"]["total_tokens"]) == (120, 120)
    assert " 240     $0.0006  " in lousho("history", "s").out


def test_the_list_has_what_all_runs_of_a_session_used(lousho: Any, agent: Any) -> None:
    agent(*TWO, DONE, DONE)
    lousho("run", "a.yaml", "go", "-s", "s")
    lousho("resume", "s", "more")
    (listed,) = lousho("list", "--json").data
    usage = listed["usage"]
    assert [usage[name] for name in ("input_tokens", "output_tokens", "total_tokens", "estimated")] == [300, 60, 360, False]
    assert usage["cost_usd"] == pytest.approx(3 * COST)
    assert usage == lousho("show", "s", "--json").data["session_usage"]
    assert "  360     $0.0009  " in lousho("list").out


def test_what_nobody_knows_is_null_and_unknown_and_never_zero(lousho: Any, agent: Any) -> None:
    agent("done", price=None)
    ran = lousho("run", "a.yaml", "go", "-s", "s", "--json")
    usage = ran.data["usage"]
    assert usage["estimated"]
    unknown = ("cost_usd", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")
    assert [usage[name] for name in unknown] == [None] * 4
    assert [usage["by_model"]["m"][name] for name in unknown] == [None] * 4
    tokens = usage["total_tokens"]
    assert f"s: 1 step, ~{tokens} tokens, cost unknown" in ran.err
    assert f"~{tokens}" in lousho("list").out
    assert " unknown " in lousho("list").out
    assert lousho("list", "--json").data[0]["usage"]["cost_usd"] is None


def test_an_estimate_with_a_price_is_an_estimated_cost(lousho: Any, agent: Any) -> None:
    agent("done", price={"input": 1000, "output": 1000})
    ran = lousho("run", "a.yaml", "go", "-s", "s")
    assert ran.err.splitlines()[-2].startswith("s: 1 step, ~")
    assert ", ~$0.00" in ran.err.splitlines()[-2]


def test_one_unknown_cost_makes_the_sum_unknown(lousho: Any, agent: Any, folder: Any) -> None:
    agent(*TWO, DONE, DONE)
    lousho("run", "a.yaml", "go", "-s", "s")
    agent(*TWO, DONE, DONE, price=None)
    lousho("resume", "s", "more")
    assert lousho("list", "--json").data[0]["usage"]["cost_usd"] is None
    assert "all runs:    300 in (120 cached, 30 cache-written), 60 out (15 reasoning), 3 calls, cost unknown" in lousho("show", "s").out


def test_both_sides_of_a_diff(lousho: Any, agent: Any) -> None:
    agent(*TWO, DONE, DONE)
    lousho("run", "a.yaml", "go", "-s", "s")
    agent("done", price=None)
    lousho("run", "a.yaml", "go", "-s", "t")
    said = lousho("diff", "s", "t")
    guess = lousho("list", "--json").data[0]["usage"]["total_tokens"]
    assert said.out.endswith(f"tokens: 240 and ~{guess}\ncost: $0.0006 and unknown\n")
    data = lousho("diff", "s", "t", "--json").data
    assert (data["tokens"], data["usage"]["b"]["cost_usd"]) == ({"a": 240, "b": guess}, None)


def test_a_diff_tells_what_all_runs_of_a_session_used_as_the_list_does(lousho: Any, agent: Any) -> None:
    agent(*TWO, DONE, DONE)
    lousho("run", "a.yaml", "go", "-s", "s")
    lousho("resume", "s", "more")
    listed = lousho("list", "--json").data[0]["usage"]
    usage = lousho("diff", "s", "s@1/2", "--json").data["usage"]
    assert (usage["a"], usage["b"]["total_tokens"]) == (listed, 240)


def test_sub_agents_are_in_the_total_and_apart_in_the_json(lousho: Any, agent: Any, folder: Any) -> None:
    scout = {
        "name": "scout",
        "prompt": "p",
        "provider": {"type": "scripted", "model": "n", "turns": [{"text": "x", "usage": USED}], "price": PRICE},
    }
    (folder / "scout.yaml").write_text(json.dumps(scout))
    turns = ({"tool_calls": [{"name": "scout", "args": {"input": "look"}}], "usage": USED}, {"text": "done", "usage": USED})
    agent(*turns, subagents={"scout": "scout.yaml"})
    ran = lousho("run", "a.yaml", "go", "-s", "s", "--json")
    assert "s: 2 steps, 360 tokens (120 cached), $0.0009" in ran.err
    usage = ran.data["usage"]
    assert (usage["total_tokens"], usage["delegated"]["total_tokens"], usage["delegated"]["runs"]) == (240, 120, 1)
    assert usage["total"]["total_tokens"] == 360
    assert lousho("list", "--json").data[0]["usage"] == usage["total"]
    assert "sub-agents: " in lousho("show", "s").out


def test_a_sub_agent_that_waits_is_in_the_list_as_it_is_in_show(lousho: Any, agent: Any, folder: Any) -> None:
    scout = {"name": "scout", "prompt": "p", "tools": ["current-date"], "policy": {"requires_approval": True}}
    scout["provider"] = {"type": "scripted", "model": "n", "turns": list(TWO), "price": PRICE}
    (folder / "scout.yaml").write_text(json.dumps(scout))
    agent(
        {"tool_calls": [{"name": "scout", "args": {"input": "look"}}], "usage": USED},
        {"text": "done", "usage": USED},
        subagents={"scout": "scout.yaml"},
        policy={"requires_approval": ["current-date"]},
    )
    ran = lousho("run", "a.yaml", "go", "-s", "s", "--json")
    assert ran.code == 4
    (listed,) = lousho("list", "--json").data
    assert listed["usage"]["total_tokens"] == 240 == ran.data["usage"]["total"]["total_tokens"]
    for head in folder.glob(".lousho/sessions/*/head.json"):
        head.unlink()
    assert lousho("list", "--json").data == [listed]
    assert lousho("show", "s", "--json").data["session_usage"] == listed["usage"]


def test_a_known_price_is_used_by_itself(lousho: Any, folder: Any) -> None:
    (folder / "m.py").write_text(MODULE)
    assert f"far: 1 step, 4100 tokens (1000 cached), {FAR}" in lousho("run", "m.py:far", "go").err
    assert "near: 1 step, 4100 tokens (1000 cached), cost unknown" in lousho("run", "m.py:near", "go").err


def test_without_the_extra_nothing_is_known_and_a_limit_says_how_to_get_it(lousho: Any, folder: Any, monkeypatch: Any) -> None:
    (folder / "m.py").write_text(MODULE)
    refused = lousho("run", "m.py:limited", "go")
    assert (refused.code, "pip install" in refused.err) == (2, False)
    assert re.search("genai-prices +ok", lousho("doctor").out)
    monkeypatch.setitem(__import__("sys").modules, "genai_prices", None)
    assert "far: 1 step, 4100 tokens (1000 cached), cost unknown" in lousho("run", "m.py:far", "go").err
    refused = lousho("run", "m.py:limited", "go")
    assert (refused.code, "pip install 'lousho[prices]'" in refused.err) == (2, True)
    assert "pip install 'lousho[prices]'" in lousho("doctor").out


@pytest.mark.parametrize(("model", "told"), [("openai/gpt-5-mini", "known"), ("ollama/gpt-5-mini", "not known")])
def test_the_doctor_says_whether_the_configured_model_has_a_known_price(lousho: Any, monkeypatch: Any, model: str, told: str) -> None:
    monkeypatch.setenv("LOUSHO_MODEL", model)
    (check,) = [one for one in lousho("doctor", "--json").data if one["name"] == "price"]
    assert told in check["detail"]
