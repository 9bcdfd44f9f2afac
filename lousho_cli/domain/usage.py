"""What model calls cost, in tokens and money.

A number a provider did not report stays missing: tokens are then estimated and
flagged, and a cost with one unknown price is unknown, never a partial sum.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class CallUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one model call reported. None means it said nothing."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


class ModelUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The share of one model in a run."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost_usd: float | None = None

    def plus(self, input_tokens: int, output_tokens: int, calls: int, cost_usd: float | None) -> ModelUsage:
        """This share and further calls of the same model."""
        cost = None if self.cost_usd is None or cost_usd is None else self.cost_usd + cost_usd
        return ModelUsage(self.input_tokens + input_tokens, self.output_tokens + output_tokens, self.calls + calls, cost)


class StepUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The usage of one model call, numbered by its step from 1."""

    step: int
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0


class Delegated(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the sub-agents of a run used, those of theirs included. ``runs`` counts them."""

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    model_calls: int = 0
    estimated: bool = False
    cost_usd: float | None = None

    def plus(self, usage: RunUsage) -> Delegated:
        """These totals and one more sub-agent's."""
        inner = usage.delegated
        cost = _sum(self.cost_usd if self.runs else 0.0, usage.cost_with_delegated)
        return Delegated(
            self.runs + 1 + inner.runs,
            self.input_tokens + usage.input_tokens + inner.input_tokens,
            self.output_tokens + usage.output_tokens + inner.output_tokens,
            self.total_tokens + usage.total_tokens + inner.total_tokens,
            self.model_calls + usage.model_calls + inner.model_calls,
            self.estimated or usage.estimated or inner.estimated,
            cost,
        )


class RunUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Running totals of one run; what its sub-agents used stands in ``delegated`` alone."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    model_calls: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    by_model: dict[str, ModelUsage] = {}
    delegated: Delegated = Delegated()

    @property
    def tokens_with_delegated(self) -> int:
        """All tokens that this run has cost, its sub-agents included."""
        return self.total_tokens + self.delegated.total_tokens

    @property
    def cost_with_delegated(self) -> float | None:
        """All money that this run has cost, its sub-agents included; None where a price is not known."""
        own = self.cost_usd if self.model_calls else 0.0
        return _sum(own, self.delegated.cost_usd if self.delegated.runs else 0.0)

    def delegating(self, usage: RunUsage) -> RunUsage:
        """These totals and what a sub-agent used."""
        return msgspec.structs.replace(self, delegated=self.delegated.plus(usage))

    def plus(self, steps: Iterable[StepUsage]) -> RunUsage:
        """These totals and further model calls. One pass, mutable inside: a long session is added up at once."""
        tokens_in, tokens_out, total = self.input_tokens, self.output_tokens, self.total_tokens
        cached, reasoning = self.cached_input_tokens, self.reasoning_tokens
        calls, estimated = self.model_calls, self.estimated
        cost = self.cost_usd if calls else 0.0
        by_model = dict(self.by_model)
        for step in steps:
            tokens_in += step.input_tokens
            tokens_out += step.output_tokens
            total += step.total_tokens
            cached += step.cached_input_tokens
            reasoning += step.reasoning_tokens
            calls += 1
            estimated = estimated or step.estimated
            cost = None if cost is None or step.cost_usd is None else cost + step.cost_usd
            share = by_model.get(step.model, _NOTHING)
            by_model[step.model] = share.plus(step.input_tokens, step.output_tokens, 1, step.cost_usd)
        return RunUsage(tokens_in, tokens_out, total, calls, estimated, cost, cached, reasoning, by_model, self.delegated)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


_NOTHING = ModelUsage(cost_usd=0.0)


def step_usage(step: int, model: str, call: CallUsage | None, estimate: tuple[int, int]) -> StepUsage:
    """The usage of a call, from what it reported or, where it said nothing, from ``estimate`` (input, output)."""
    if call is None:
        return StepUsage(step, model, estimate[0], estimate[1], estimate[0] + estimate[1], estimated=True)
    given_in, given_out = call.input_tokens, call.output_tokens
    tokens_in = estimate[0] if given_in is None else given_in
    tokens_out = estimate[1] if given_out is None else given_out
    guessed = given_in is None or given_out is None
    cached, reasoning = call.cached_input_tokens or 0, call.reasoning_tokens or 0
    return StepUsage(step, model, tokens_in, tokens_out, tokens_in + tokens_out, guessed, call.cost_usd, cached, reasoning)
