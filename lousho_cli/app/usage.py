"""What was used, as it is shown: tokens and money of a call, a run, a session, a model.

None is null in JSON and means that nobody knows; it is never zero. A sum with an unknown part is unknown.
"""

from __future__ import annotations

import msgspec

from lousho_cli.core.limits import used_with_sub_agents
from lousho_cli.domain.heads import Head
from lousho_cli.domain.session import Marked, Session
from lousho_cli.domain.usage import Delegated, ModelUsage, RunUsage, StepUsage


class Totals(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Tokens and money. ``estimated``: not every call was reported, so that tokens are guessed.

    ``cached_input_tokens`` and ``cache_write_tokens`` are parts of the input, ``reasoning_tokens`` of the output.
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    model_calls: int
    estimated: bool
    cost_usd: float | None
    cached_input_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None


class ModelShare(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The share of one model."""

    input_tokens: int
    output_tokens: int
    calls: int
    estimated: bool
    cost_usd: float | None
    cached_input_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None


class SubAgentsUsage(Totals, frozen=True, omit_defaults=True, kw_only=True):
    """What sub-agents used, those of theirs included. ``runs`` counts them."""

    runs: int


class Usage(Totals, frozen=True, omit_defaults=True, kw_only=True):
    """What a run used so far. That of its sub-agents stands apart in ``delegated``; where there are any, ``total`` is both."""

    delegated: SubAgentsUsage
    by_model: dict[str, ModelShare] = {}
    total: Totals | None = None

    @property
    def all(self) -> Totals:
        """The run's own and that of its sub-agents."""
        return self.total or self


class StepLine(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one model call used."""

    step: int
    model: str
    input_tokens: int
    output_tokens: int
    total_tokens: int
    estimated: bool
    cost_usd: float | None
    cached_input_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None


def usage_of(usage: RunUsage) -> Usage:
    """Running totals as they are shown."""
    own = totals_of(msgspec.structs.replace(usage, delegated=Delegated()))
    fields = {name: getattr(own, name) for name in Totals.__struct_fields__}
    by_model = {model: _share(share) for model, share in usage.by_model.items()}
    inner = usage.delegated
    theirs = SubAgentsUsage(**{name: getattr(inner, name) for name in SubAgentsUsage.__struct_fields__})
    return Usage(**fields, by_model=by_model, delegated=theirs, total=totals_of(usage) if inner.runs else None)


def _share(share: ModelUsage) -> ModelShare:
    return ModelShare(**{name: getattr(share, name) for name in ModelShare.__struct_fields__})


def totals_of(usage: RunUsage) -> Totals:
    """Running totals as one sum, sub-agents included. Where no call was counted, nothing is known beside tokens."""
    whole = usage.with_delegated
    if not whole.model_calls:
        whole = msgspec.structs.replace(whole, cost_usd=None, cached_input_tokens=None, cache_write_tokens=None, reasoning_tokens=None)
    return Totals(**{name: getattr(whole, name) for name in Totals.__struct_fields__})


def steps_of(point: Session | Marked) -> tuple[StepLine, ...]:
    """What each model call of the run used."""
    return tuple(_step(step) for step in point.step_usage)


def _step(step: StepUsage) -> StepLine:
    return StepLine(**{name: getattr(step, name) for name in StepLine.__struct_fields__})


def session_totals(session: Session) -> Totals:
    """What all runs of a session used, their sub-agents included."""
    return totals_of(session.earlier.joined(used_with_sub_agents(session)))


def head_totals(head: Head) -> Totals:
    """The same of a session in a list."""
    return totals_of(head.earlier.joined(_used(head)))


def _used(head: Head) -> RunUsage:
    usage = head.usage
    for child in head.outline.children.values():
        usage = usage.delegating(_used(child))
    return usage
