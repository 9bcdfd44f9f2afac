"""What model calls cost, in tokens and money.

A number a provider did not report stays missing. Where a budget needs one, tokens are estimated and flagged. A sum
with an unknown part is unknown, never a partial sum: None is not zero.

``input_tokens`` is all that went in. ``cached_input_tokens`` (read from a cache) and ``cache_write_tokens`` (written
into one) are parts of it; ``reasoning_tokens`` are a part of ``output_tokens``. A provider whose wire reports them
apart adds them up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

N = TypeVar("N", int, float)


class CallUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one model call reported. None means it said nothing."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    cache_write_tokens: int | None = None


class StepUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The usage of one model call, numbered by its step from 1. ``estimated``: its tokens were not all reported."""

    step: int
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None


class ModelUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The share of one model in a run."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost_usd: float | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    estimated: bool = False

    def plus(self, other: ModelUsage | StepUsage, calls: int = 1) -> ModelUsage:
        """This share and further ``calls`` of the same model. Spelled out, as this is done at every step."""
        cost, cached, reasoning, written = self.cost_usd, self.cached_input_tokens, self.reasoning_tokens, self.cache_write_tokens
        return ModelUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.calls + calls,
            None if cost is None or other.cost_usd is None else cost + other.cost_usd,
            None if cached is None or other.cached_input_tokens is None else cached + other.cached_input_tokens,
            None if reasoning is None or other.reasoning_tokens is None else reasoning + other.reasoning_tokens,
            None if written is None or other.cache_write_tokens is None else written + other.cache_write_tokens,
            self.estimated or other.estimated,
        )


class Delegated(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the sub-agents of a run used, those of theirs included. ``runs`` counts them."""

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    model_calls: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None

    def plus(self, other: Delegated) -> Delegated:
        """These totals and those of further sub-agents."""
        if not self.runs or not other.runs:
            return self if self.runs else other
        return Delegated(
            self.runs + other.runs,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            self.model_calls + other.model_calls,
            self.estimated or other.estimated,
            _sum(self.cost_usd, other.cost_usd),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
        )


class RunUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Running totals of one run; what its sub-agents used stands in ``delegated`` alone."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    model_calls: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    by_model: dict[str, ModelUsage] = {}
    delegated: Delegated = Delegated()
    cache_write_tokens: int | None = None

    @property
    def tokens_with_delegated(self) -> int:
        """All tokens that this run has cost, its sub-agents included."""
        return self.total_tokens + self.delegated.total_tokens

    @property
    def cost_with_delegated(self) -> float | None:
        """All money that this run has cost, its sub-agents included; None where a price is not known."""
        own = self.cost_usd if self.model_calls else 0.0
        return _sum(own, self.delegated.cost_usd if self.delegated.runs else 0.0)

    @property
    def with_delegated(self) -> RunUsage:
        """These totals with what the sub-agents used counted in, which says no more whose it was. ``by_model`` stays the run's own."""
        inner = self.delegated
        return self._added(inner, inner.model_calls, Delegated()) if inner.runs else self

    def delegating(self, usage: RunUsage) -> RunUsage:
        """These totals and what a sub-agent used."""
        all_of_it = usage.with_delegated
        one = Delegated(
            usage.delegated.runs + 1,
            all_of_it.input_tokens,
            all_of_it.output_tokens,
            all_of_it.total_tokens,
            all_of_it.model_calls,
            all_of_it.estimated,
            *all_of_it._known,
        )
        return msgspec.structs.replace(self, delegated=self.delegated.plus(one))

    def joined(self, other: RunUsage) -> RunUsage:
        """These totals and those of another run of the same session."""
        if not self.model_calls and not self.delegated.runs:
            return other
        sum_of_both = self._added(other, other.model_calls, self.delegated.plus(other.delegated))
        by_model = dict(self.by_model)
        for model, share in other.by_model.items():
            by_model[model] = by_model.get(model, _NOTHING).plus(share, share.calls)
        return msgspec.structs.replace(sum_of_both, by_model=by_model)

    def plus(self, steps: Iterable[StepUsage]) -> RunUsage:
        """These totals and further model calls. One pass, mutable inside: a long session is added up at once."""
        tokens_in, tokens_out, total = self.input_tokens, self.output_tokens, self.total_tokens
        calls, estimated = self.model_calls, self.estimated
        cost, cached, reasoning, written = self._known
        by_model = dict(self.by_model)
        for step in steps:
            tokens_in += step.input_tokens
            tokens_out += step.output_tokens
            total += step.total_tokens
            calls += 1
            estimated = estimated or step.estimated
            cost = None if cost is None or step.cost_usd is None else cost + step.cost_usd
            cached = None if cached is None or step.cached_input_tokens is None else cached + step.cached_input_tokens
            reasoning = None if reasoning is None or step.reasoning_tokens is None else reasoning + step.reasoning_tokens
            written = None if written is None or step.cache_write_tokens is None else written + step.cache_write_tokens
            by_model[step.model] = by_model.get(step.model, _NOTHING).plus(step)
        return RunUsage(tokens_in, tokens_out, total, calls, estimated, cost, cached, reasoning, by_model, self.delegated, written)

    @property
    def _known(self) -> tuple[float | None, int | None, int | None, int | None]:
        """Cost, cached, reasoning and cache-written tokens: before the first call they are known to be none."""
        if not self.model_calls:
            return 0.0, 0, 0, 0
        return self.cost_usd, self.cached_input_tokens, self.reasoning_tokens, self.cache_write_tokens

    def _added(self, other: RunUsage | Delegated, calls: int, delegated: Delegated) -> RunUsage:
        """These totals and others; ``other`` made ``calls``."""
        cost, cached, reasoning, written = self._known
        if calls:
            cost, cached = _sum(cost, other.cost_usd), _sum(cached, other.cached_input_tokens)
            reasoning, written = _sum(reasoning, other.reasoning_tokens), _sum(written, other.cache_write_tokens)
        return RunUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            self.model_calls + calls,
            self.estimated or other.estimated,
            cost,
            cached,
            reasoning,
            self.by_model,
            delegated,
            written,
        )


def _sum(one: N | None, other: N | None) -> N | None:
    """A sum, unknown where a part of it is."""
    return None if one is None or other is None else one + other


_NOTHING = ModelUsage(cost_usd=0.0, cached_input_tokens=0, reasoning_tokens=0, cache_write_tokens=0)


def step_usage(step: int, model: str, call: CallUsage | None, estimate: tuple[int, int]) -> StepUsage:
    """The usage of a call, from what it reported or, where it said nothing, from ``estimate`` (input, output)."""
    if call is None:
        return StepUsage(step, model, estimate[0], estimate[1], estimate[0] + estimate[1], estimated=True)
    given_in, given_out = call.input_tokens, call.output_tokens
    tokens_in = estimate[0] if given_in is None else given_in
    tokens_out = estimate[1] if given_out is None else given_out
    guessed = given_in is None or given_out is None
    cached, reasoning, written = call.cached_input_tokens, call.reasoning_tokens, call.cache_write_tokens
    return StepUsage(step, model, tokens_in, tokens_out, tokens_in + tokens_out, guessed, call.cost_usd, cached, reasoning, written)
