"""What a model costs, as the caller says it. No price is known from elsewhere."""

from __future__ import annotations

import msgspec

from lousho_cli.domain.usage import CallUsage

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True, gc=False):
    """US dollars for a million tokens. ``cached_input_per_million`` None charges cached input like any other."""

    input_per_million: float
    output_per_million: float
    cached_input_per_million: float | None = None

    def cost_of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> float:
        """US dollars for one call. ``cached_input_tokens`` are a part of ``input_tokens``."""
        cached = min(cached_input_tokens, input_tokens)
        for_cached = self.input_per_million if self.cached_input_per_million is None else self.cached_input_per_million
        fresh = (input_tokens - cached) * self.input_per_million
        return (fresh + cached * for_cached + output_tokens * self.output_per_million) / _MILLION


def priced(used: CallUsage | None, price: Price | None, estimate: tuple[int, int]) -> CallUsage | None:
    """What a call reported, with its cost where that can be told and was not reported; ``estimate`` stands in for missing counts."""
    if price is None or (used is not None and used.cost_usd is not None):
        return used
    known = used or CallUsage()
    tokens_in = estimate[0] if known.input_tokens is None else known.input_tokens
    tokens_out = estimate[1] if known.output_tokens is None else known.output_tokens
    return msgspec.structs.replace(known, cost_usd=price.cost_of(tokens_in, tokens_out, known.cached_input_tokens or 0))
