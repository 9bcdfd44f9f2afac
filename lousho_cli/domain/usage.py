"""What model calls cost, in tokens and money.

A number a provider did not report stays missing: tokens are then estimated and
flagged, and a cost with one unknown price is unknown, never a partial sum.
"""

from __future__ import annotations

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


class StepUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The usage of one model call, numbered by its step from 1."""

    step: int
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None


class RunUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Running totals of one run."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    model_calls: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    by_model: dict[str, ModelUsage] = {}

    def plus(self, step: StepUsage, call: CallUsage | None = None) -> RunUsage:
        """These totals and one more model call."""
        before = self.by_model.get(step.model) or ModelUsage(cost_usd=0.0)
        share = ModelUsage(
            before.input_tokens + step.input_tokens,
            before.output_tokens + step.output_tokens,
            before.calls + 1,
            _sum(before.cost_usd, step.cost_usd),
        )
        return RunUsage(
            self.input_tokens + step.input_tokens,
            self.output_tokens + step.output_tokens,
            self.total_tokens + step.total_tokens,
            self.model_calls + 1,
            self.estimated or step.estimated,
            _sum(self.cost_usd if self.model_calls else 0.0, step.cost_usd),
            self.cached_input_tokens + ((call.cached_input_tokens or 0) if call else 0),
            self.reasoning_tokens + ((call.reasoning_tokens or 0) if call else 0),
            {**self.by_model, step.model: share},
        )


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def step_usage(step: int, model: str, call: CallUsage | None, estimate: tuple[int, int]) -> StepUsage:
    """The usage of a call, from what it reported or, where it said nothing, from ``estimate`` (input, output)."""
    if call is None:
        return StepUsage(step, model, estimate[0], estimate[1], estimate[0] + estimate[1], estimated=True)
    given_in, given_out = call.input_tokens, call.output_tokens
    tokens_in = estimate[0] if given_in is None else given_in
    tokens_out = estimate[1] if given_out is None else given_out
    guessed = given_in is None or given_out is None
    return StepUsage(step, model, tokens_in, tokens_out, tokens_in + tokens_out, guessed, call.cost_usd)
