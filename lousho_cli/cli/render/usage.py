"""Tokens and money as text: ``120 tokens (40 cached), $0.0012``. What is estimated has a ``~``, what nobody knows is ``unknown``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

UNKNOWN = "unknown"
NOTHING = "-"

SPEND = ("TOKENS", "COST")
"""The names of ``columns``, in the order in which a terminal without room for them does without."""


def dollars(cost: float | None, *, estimated: bool = False) -> str:
    """An amount of US dollars: cents from a dollar up, else four places; what is less than the last of them is not nothing."""
    if cost is None:
        return UNKNOWN
    if cost >= 0.99995:
        text = f"${cost:.2f}"
    elif cost == 0:
        text = "$0"
    else:
        text = f"${cost:.4f}" if cost >= 0.00005 else "<$0.0001"
    return _about(text, estimated)


def count(tokens: int, *, estimated: bool = False) -> str:
    """A number of tokens."""
    return _about(str(tokens), estimated)


def columns(totals: Any) -> tuple[str, str]:
    """Tokens and cost for a table; dashes where no model was asked."""
    if not totals.model_calls:
        return NOTHING, NOTHING
    return count(totals.total_tokens, estimated=totals.estimated), dollars(totals.cost_usd, estimated=totals.estimated)


def in_short(totals: Any) -> str:
    """Tokens, how many of them came from a cache, and cost."""
    cached = f" ({totals.cached_input_tokens} cached)" if totals.cached_input_tokens else ""
    return f"{count(totals.total_tokens, estimated=totals.estimated)} tokens{cached}, {_cost(totals)}"


def in_full(totals: Any) -> str:
    """Every count that was reported, the calls, and cost."""
    guessed, calls = totals.estimated, totals.calls if hasattr(totals, "calls") else totals.model_calls
    of_input = _parts(totals, cached_input_tokens="cached", cache_write_tokens="cache-written")
    of_output = _parts(totals, reasoning_tokens="reasoning")
    told = [
        f"{count(totals.input_tokens, estimated=guessed)} in{of_input}",
        f"{count(totals.output_tokens, estimated=guessed)} out{of_output}",
        f"{calls} call{'' if calls == 1 else 's'}",
        *([_cost(totals)] if calls else []),
    ]
    return ", ".join(told)


class Tally:
    """What the model calls of a run have used while it runs. A call that reported nothing makes it an estimate from below."""

    def __init__(self) -> None:
        self._tokens = 0
        self._cost: float | None = 0.0
        self._estimated = False

    def add(self, used: Any) -> None:
        """Takes in a call, as it was reported; None where nothing was."""
        self._estimated = self._estimated or used is None or used.input_tokens is None or used.output_tokens is None
        cost = None if used is None else used.cost_usd
        self._cost = None if self._cost is None or cost is None else self._cost + cost
        self._tokens += 0 if used is None else (used.input_tokens or 0) + (used.output_tokens or 0)

    def so_far(self) -> str:
        """Behind what goes on; nothing before anything was reported."""
        if not self._tokens:
            return ""
        cost = "" if self._cost is None else f", {dollars(self._cost, estimated=self._estimated)}"
        return f" ({count(self._tokens, estimated=self._estimated)} tokens{cost} so far)"


def usage_rows(shown: Any) -> Iterator[tuple[str, str]]:
    """What a session used, by name: its run, each model where there are several, sub-agents, and all its runs where there were several."""
    usage = shown.usage
    yield "usage", in_full(usage.all)
    if len(usage.by_model) > 1:
        for model, share in usage.by_model.items():
            yield f"  {model or UNKNOWN}", in_full(share)
    if usage.delegated.runs:
        yield "  sub-agents", in_full(usage.delegated)
    if shown.session_usage is not None and shown.session_usage.model_calls != usage.all.model_calls:
        yield "all runs", in_full(shown.session_usage)


def _cost(totals: Any) -> str:
    cost = dollars(totals.cost_usd, estimated=totals.estimated)
    return f"cost {cost}" if cost == UNKNOWN else cost


def _parts(totals: Any, **names: str) -> str:
    told = [f"{number} {name}" for field, name in names.items() if (number := getattr(totals, field))]
    return f" ({', '.join(told)})" if told else ""


def _about(text: str, estimated: bool) -> str:
    return f"~{text}" if estimated else text
