"""What calls cost: prices as a caller gives them, by model name or as a function. None are known from elsewhere."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.prices import Price
from lousho_cli.errors import ConfigurationError, RangeError

Prices = Mapping[str, Price | Mapping[str, Any]] | Callable[[str], Price | None] | None
"""``Price`` values by model, or a function from a model's name to its ``Price``, None where it has none."""

PRICE_UNKNOWN = "LOUSHO_PRICE_UNKNOWN"


def pricing_of(prices: Prices, model: str | None) -> Callable[[str], Price | None] | None:
    """A function from the name a model answered under to its price; None where no prices were given.

    A name without a price of its own, such as one with a date in it, has that of ``model``, which was asked.

    Raises:
        ConfigurationError: ``prices`` is neither prices nor a function.
    """
    if prices is None:
        return None
    if callable(prices):
        find = _asked(prices)
    else:
        by_name = {name: _price(name, value) for name, value in prices.items()}
        find = by_name.get

    def price_of(answered: str) -> Price | None:
        price = find(answered)
        return find(model) if price is None and model else price

    return price_of


def _asked(prices: Callable[[str], Any]) -> Callable[[str], Price | None]:
    """The caller's function, whose error or answer that is no price names it."""

    def find(name: str) -> Price | None:
        try:
            value = prices(name)
        except Exception as error:
            raise ConfigurationError(f"prices failed for {name}: {type(error).__name__}: {text_of(error)[:300]}", field="prices") from error
        return None if value is None else _price(name, value)

    return find


def _price(name: str, value: Price | Mapping[str, Any]) -> Price:
    try:
        price = value if isinstance(value, Price) else msgspec.convert(dict(value), Price)
        numbers = [price.input_per_million, price.output_per_million, price.cached_input_per_million or 0]
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
    if prices is not None and not callable(prices) and not isinstance(prices, Mapping):
        raise ConfigurationError(f"prices is a {type(prices).__name__}", field="prices", hint="Use prices by model, or a function.")
    pricing_of(prices, None)


def unpriced(model: str | None) -> ConfigurationError:
    """The error for a limit in money that nobody could watch."""
    return ConfigurationError(
        f"max_cost_usd can not be kept: the price of {model or 'the model'} is not known",
        field="max_cost_usd",
        code=PRICE_UNKNOWN,
        hint="Give its price in prices, or limit max_steps or max_tokens instead.",
    )
