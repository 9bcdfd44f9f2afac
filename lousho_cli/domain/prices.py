"""What a model costs, and what one call of it cost."""

from __future__ import annotations

from typing import Protocol

import msgspec

from lousho_cli.domain.usage import CallUsage

_MILLION = 1_000_000


class Rate(Protocol):
    """What tells the cost of a call of one model."""

    def cost_of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0, cache_write_tokens: int = 0, /) -> float | None:
        """US dollars for one call, None where they can not be told. The last two are parts of the input."""


class Price(msgspec.Struct, frozen=True, gc=False):
    """US dollars for a million tokens. None for ``cached_input`` or ``cache_write`` charges those like any other input."""

    input_per_million: float
    output_per_million: float
    cached_input_per_million: float | None = None
    cache_write_per_million: float | None = None

    def cost_of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0, cache_write_tokens: int = 0) -> float:
        """US dollars for one call. ``cached_input_tokens`` and ``cache_write_tokens`` are parts of ``input_tokens``."""
        cached, written = parts_of_input(input_tokens, cached_input_tokens, cache_write_tokens)
        for_input, for_cached, for_written = self.input_per_million, self.cached_input_per_million, self.cache_write_per_million
        cost = (input_tokens - cached - written) * for_input + output_tokens * self.output_per_million
        cost += cached * (for_input if for_cached is None else for_cached)
        cost += written * (for_input if for_written is None else for_written)
        return cost / _MILLION


def parts_of_input(input_tokens: int, cached: int, written: int) -> tuple[int, int]:
    """How many of the input tokens were read from a cache and written into one: together no more than there are."""
    cached = min(cached, input_tokens)
    return cached, min(written, input_tokens - cached)


def priced(used: CallUsage | None, rate: Rate | None, estimate: tuple[int, int]) -> CallUsage | None:
    """What a call reported, with its cost where that can be told and was not reported.

    ``estimate`` stands in for missing counts; what was not reported as cached is charged in full.
    """
    if rate is None or (used is not None and used.cost_usd is not None):
        return used
    known = used or CallUsage()
    tokens_in = estimate[0] if known.input_tokens is None else known.input_tokens
    tokens_out = estimate[1] if known.output_tokens is None else known.output_tokens
    cost = rate.cost_of(tokens_in, tokens_out, known.cached_input_tokens or 0, known.cache_write_tokens or 0)
    return used if cost is None else msgspec.structs.replace(known, cost_usd=cost)
