"""What calls cost: prices as a caller gives them, by model name, as a function, or by the provider that is asked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import msgspec

from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.prices import Price, Rate
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.ports.provider import Provider

Find = Callable[[str], Rate | None]


class PricesByProvider(Protocol):
    """Prices that depend on who is asked, such as ``known_prices()``."""

    def for_provider(self, provider: Provider) -> Find | None:
        """A function from a model's name to its rate; None where nothing is known of the provider."""


OnePrices = Mapping[str, Price | Mapping[str, Any]] | Callable[[str], Price | None] | PricesByProvider
Prices = OnePrices | Sequence[OnePrices] | None
"""``Price`` values by model, a function from a model's name to its ``Price`` (None where it has none), ``known_prices()``,
or a list of those, of which the first that knows a price tells it."""

PRICE_UNKNOWN = "LOUSHO_PRICE_UNKNOWN"


def pricing_of(prices: Prices, model: str | None, provider: Provider | None) -> Find | None:
    """A function from the name a model answered under to what it costs; None where there are no prices to look in.

    A name without a price of its own, such as one with a date in it, has that of ``model``, which was asked.

    Raises:
        ConfigurationError: ``prices`` is neither prices nor a function.
    """
    if prices is None:
        return None
    sources = prices if _is_list(prices) else (prices,)
    finds = [find for source in sources if (find := _find(source, provider)) is not None]

    def price_of(answered: str) -> Rate | None:
        for find in finds:
            for name in (answered, model):
                rate = find(name) if name else None
                if rate is not None:
                    return rate
        return None

    return price_of if finds else None


def _by_provider(prices: Any) -> TypeGuard[PricesByProvider]:
    """What ``isinstance`` would say of a protocol, in a twentieth of its time: it is asked several times a run."""
    return callable(getattr(prices, "for_provider", None))


def _is_list(prices: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(prices, Sequence) and not isinstance(prices, (str, bytes))


def _find(prices: Any, provider: Provider | None) -> Find | None:
    """One source of prices, of which nothing is asked before a price is needed."""
    if _by_provider(prices):
        return prices.for_provider(provider) if provider is not None else None
    if callable(prices):
        return _asked(prices)
    return {name: _price(name, value) for name, value in prices.items()}.get


def _asked(prices: Callable[[str], Any]) -> Find:
    """The caller's function, whose error or answer that is no price names it."""

    def find(name: str) -> Rate | None:
        try:
            value = prices(name)
        except Exception as error:
            raise ConfigurationError(f"prices failed for {name}: {type(error).__name__}: {text_of(error)[:300]}", field="prices") from error
        return None if value is None else _price(name, value)

    return find


def _price(name: str, value: Price | Mapping[str, Any]) -> Price:
    try:
        price = value if isinstance(value, Price) else msgspec.convert(dict(value), Price)
        numbers = [price.input_per_million, price.output_per_million]
        numbers += [number for number in (price.cached_input_per_million, price.cache_write_per_million) if number is not None]
        if not all(isinstance(number, (int, float)) and math.isfinite(number) and number >= 0 for number in numbers):
            raise ValueError("a price is 0 or more")
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        hint = "Give input_per_million and output_per_million in US dollars."
        raise ConfigurationError(f"the price of {name} is not valid: {error}", field=f"prices.{name}", hint=hint) from error
    return price


def check_money(most: Any, prices: Any) -> None:
    """Lets only a limit and prices pass that mean something.

    Raises:
        ConfigurationError, RangeError: ``field`` names the one that does not.
    """
    if most is not None and (isinstance(most, bool) or not isinstance(most, (int, float)) or not 0 < most <= sys.float_info.max):
        shown = f"{plain(most)[0]!r:.60}"
        raise RangeError(f"max_cost_usd is {shown}", field="max_cost_usd", hint="Use a number of US dollars above 0.")
    for one in prices if _is_list(prices) else (prices,):
        if one is not None and not callable(one) and not isinstance(one, Mapping) and not _by_provider(one):
            hint = "Use prices by model, a function, known_prices(), or a list of those."
            raise ConfigurationError(f"prices is a {type(one).__name__}", field="prices", hint=hint)
    pricing_of(prices, None, None)


def unpriced(model: str | None) -> ConfigurationError:
    """The error for a limit in money that nobody could watch."""
    return ConfigurationError(
        f"max_cost_usd can not be kept: the price of {model or 'the model'} is not known",
        field="max_cost_usd",
        code=PRICE_UNKNOWN,
        hint="Give its price in prices, or known_prices() (pip install 'lousho[prices]'), or limit max_steps or max_tokens instead.",
    )
