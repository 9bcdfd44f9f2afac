"""What models cost at the services that are known, from the data that comes with ``genai-prices``: nothing is ever fetched.

The only file that imports ``genai_prices``, and late: it takes a third of a second. Prices go by the address that is
asked, so a model on one's own machine never has the price of its namesake in the cloud.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lousho_cli.domain.prices import parts_of_input
from lousho_cli.errors import ConfigurationError

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

PACKAGE = "genai-prices"
INSTALL = "pip install 'lousho[prices]'"


def prices_installed() -> bool:
    """Whether the extra ``prices`` is there. Imports nothing of it."""
    return find_spec("genai_prices") is not None


def known_prices() -> KnownPrices:
    """Prices for ``prices=`` of a run: those of the service that its provider asks, by the model that answered.

    Raises:
        ConfigurationError: the extra ``prices`` is not installed.
    """
    if not prices_installed():
        what = f"known prices need the package {PACKAGE}"
        raise ConfigurationError(what, field="prices", code="LOUSHO_EXTRA_MISSING", hint=f"Install it: {INSTALL}")
    return KnownPrices()


class KnownPrices:
    """See ``known_prices``."""

    def for_provider(self, provider: Any) -> Callable[[str], KnownRate | None] | None:
        """A function from a model's name to its rate; None for a provider that asks no service in the network."""
        address = getattr(provider, "address", None)
        return self.at(address) if isinstance(address, str) else None

    def at(self, address: str) -> Callable[[str], KnownRate | None] | None:
        """The same for a server by its address."""
        if not _is_public(address):
            return None
        return lambda model: _rate(address, model)


class KnownRate:
    """What one model costs at one service, the day it is asked."""

    def __init__(self, service: Provider, model: ModelInfo) -> None:
        self._service, self._model = service, model

    def cost_of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0, cache_write_tokens: int = 0) -> float | None:
        """US dollars for one call, steps in the price by the size of the input included; None where it can not be told."""
        from genai_prices import Usage

        cached, written = parts_of_input(input_tokens, cached_input_tokens, cache_write_tokens)
        used = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached, cache_write_tokens=written)
        try:
            return float(self._model.calc_price(used, self._service).total_price)
        except (ValueError, LookupError, ArithmeticError):  # a price that takes more than these counts
            return None


def _is_public(address: str) -> bool:
    """Whether an address names a server by its name in the network."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "https" or "." not in host:
        return False
    try:
        ip_address(host)
    except ValueError:
        return True
    return False


@lru_cache(256)
def _rate(address: str, name: str) -> KnownRate | None:
    """The rate of a model. One that lacks a price for input or output is not known: nothing is free because nobody said."""
    from datetime import UTC, datetime

    from genai_prices.data_snapshot import get_snapshot

    try:
        service, model = get_snapshot().find_provider_model(name, None, None, address)
    except LookupError:
        return None
    prices = model.get_prices(datetime.now(UTC))
    told = (getattr(prices, key, None) for key in ("input_mtok", "output_mtok"))
    return None if None in told else KnownRate(service, model)
