"""Where a price comes from: what the server reports, what the caller says, what is known of the service that is asked."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from lousho_cli import Price, known_prices
from lousho_cli.domain.messages import Message
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.provider import Answer
from lousho_cli.providers.known_prices import KnownPrices

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
MILLION = CallUsage(1_000_000, 1_000_000, 0, 0)


def at(address: str | None, model: Any) -> Any:
    """A model at an address."""
    if address is not None:
        model.address = address
    return model


def answered(usage: CallUsage | None = MILLION, model: str = "") -> Answer:
    return Answer(Message("assistant", "done"), usage=usage, model=model)


async def cost(bench: Any, model: Any, **options: Any) -> float | None:
    options = {"prices": known_prices()} | options
    return (await bench.run(bench.memory(), model, **options)).usage.cost_usd


@pytest.mark.parametrize(
    ("address", "model", "dollars"),
    [
        (OPENAI, "gpt-5-mini", 2.25),
        (ANTHROPIC, "claude-haiku-4-5", 6.0),
        ("https://openrouter.ai/api/v1", "openai/gpt-5-mini", 2.25),
        (OPENAI, "no-such-model", None),
        (ANTHROPIC, "gpt-5-mini", None),
        (OPENAI, "text-embedding-3-small", None),  # a price for input alone: what comes out is not free because nobody said
        ("http://127.0.0.1:11434/v1", "gpt-5-mini", None),
        ("https://127.0.0.1/v1", "gpt-5-mini", None),
        ("https://localhost/x.googleapis.com", "gemini-2.5-pro", None),
        ("http://api.openai.com/v1", "gpt-5-mini", None),
        (None, "gpt-5-mini", None),
    ],
)
async def test_a_price_is_that_of_the_service_that_is_asked(bench: Any, address: str | None, model: str, dollars: float | None) -> None:
    found = await cost(bench, at(address, bench.Model(answered(), model=model)))
    assert found == (None if dollars is None else pytest.approx(dollars))


async def test_the_name_it_answered_under_comes_before_the_one_asked(bench: Any) -> None:
    asked = {"model": "gpt-5-mini"}
    assert await cost(bench, at(OPENAI, bench.Model(answered(model="gpt-5-mini-2025-08-07"), **asked))) == pytest.approx(2.25)
    assert await cost(bench, at(OPENAI, bench.Model(answered(model="gpt-5-nano"), **asked))) == pytest.approx(0.45)
    assert await cost(bench, at(OPENAI, bench.Model(answered(model="only-they-know"), **asked))) == pytest.approx(2.25)


async def test_cached_and_cache_written_input_have_their_own_known_price(bench: Any) -> None:
    used = CallUsage(100_000, 0, 40_000, 0, None, 20_000)
    found = await cost(bench, at(ANTHROPIC, bench.Model(answered(used), model="claude-haiku-4-5")))
    assert found == pytest.approx((40_000 * 1 + 40_000 * 0.1 + 20_000 * 1.25) / 1e6)
    more_than_all = CallUsage(10, 0, 40, 0, None, 20)
    assert await cost(bench, at(ANTHROPIC, bench.Model(answered(more_than_all), model="claude-haiku-4-5"))) == pytest.approx(1e-6)


async def test_what_the_server_reports_beats_what_the_caller_says_which_beats_what_is_known(bench: Any) -> None:
    said = {"gpt-5-mini": Price(1, 1)}
    model = {"model": "gpt-5-mini"}
    dated = answered(model="gpt-5-mini-2025-08-07")  # known by itself, and still the caller's
    assert await cost(bench, at(OPENAI, bench.Model(dated, **model)), prices=[said, known_prices()]) == 2.0
    reported = answered(CallUsage(1_000_000, 1_000_000, cost_usd=7.0))
    assert await cost(bench, at(OPENAI, bench.Model(reported, **model)), prices=[said, known_prices()]) == 7.0
    assert await cost(bench, at(OPENAI, bench.Model(answered(), **model)), prices=[{"other": Price(1, 1)}, known_prices()]) == 2.25


async def test_a_sub_agent_has_the_price_of_where_it_asks(bench: Any) -> None:
    scout = SubAgent({"name": "scout", "prompt": "p"}, provider=at("http://127.0.0.1:1/v1", bench.Model(answered(), model="gpt-5-mini")))
    lead = at(OPENAI, bench.Model(bench.Calls(("scout", {"input": "look"})), answered(), model="gpt-5-mini"))
    result = await bench.run(bench.memory(), lead, subagents={"scout": scout}, prices=known_prices())
    assert (result.usage.delegated.runs, result.usage.delegated.cost_usd, result.usage.cost_with_delegated) == (1, None, None)
    assert result.usage.cost_usd is not None


async def test_a_limit_in_money_is_kept_by_a_known_price(bench: Any, box: Any) -> None:
    box.tool("book")
    turn = bench.Calls("book")
    used = Answer(turn.answer(()).message, "tool_calls", MILLION)
    model = at(OPENAI, bench.Model(used, "never", model="gpt-5-mini"))
    result = await bench.run(bench.memory(), model, box.tools, max_cost_usd=2, prices=known_prices())
    assert (result.finish_reason, result.budget.value, box.ran) == ("budget-exceeded", pytest.approx(2.25), [])


@pytest.mark.parametrize("address", [None, "http://127.0.0.1:11434/v1"])
async def test_a_limit_in_money_is_refused_where_no_price_is_known(bench: Any, address: str | None) -> None:
    model = at(address, bench.Model("done", model="gpt-5-mini"))
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), model, max_cost_usd=1, prices=known_prices())
    assert (raised.value.code, model.asked) == ("LOUSHO_PRICE_UNKNOWN", [])
    assert "pip install 'lousho[prices]'" in raised.value.hint


async def test_a_wrong_price_in_a_list_is_named(bench: Any) -> None:
    for prices, field in (([5], "prices"), ([{"m": Price(1, 1, cache_write_per_million=-1)}], "prices.m"), ("cheap", "prices")):
        with pytest.raises(ConfigurationError) as raised:
            await bench.run(bench.memory(), bench.Model("done"), prices=prices)
        assert raised.value.field == field


def test_without_the_extra_known_prices_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(ConfigurationError, match="genai-prices") as raised:
        known_prices()
    assert raised.value.hint == "Install it: pip install 'lousho[prices]'"


def test_nothing_is_loaded_before_a_price_is_needed_and_nothing_is_fetched() -> None:
    code = """
import socket, sys
from types import SimpleNamespace
socket.socket.connect = None  # whoever tries fails
from lousho_cli import known_prices
price_of = known_prices().for_provider(SimpleNamespace(address="https://api.openai.com/v1"))
assert "genai_prices" not in sys.modules and "httpx" not in sys.modules
print(round(price_of("gpt-5-mini").cost_of(1_000_000, 0), 4))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0.25\n", "")


def test_a_step_in_the_price_counts() -> None:
    price_of = KnownPrices().at("https://generativelanguage.googleapis.com/v1beta/openai")
    assert price_of is not None
    rate = price_of("gemini-2.5-pro")
    assert rate is not None
    small, large = rate.cost_of(100_000, 0), rate.cost_of(300_000, 0)
    assert small is not None
    assert large is not None
    assert large > 3 * small


def test_without_the_extra_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousho_cli.providers.known_prices.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        known_prices()
    assert (caught.value.code, caught.value.hint) == ("LOUSHO_EXTRA_MISSING", "Install it: pip install 'lousho[prices]'")
