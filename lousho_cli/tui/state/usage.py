"""What a checkpoint's run used, as nodes: a table of its model calls, and sums. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lousho_cli.app.showing import Shown
from lousho_cli.tui.state.outline import Node
from lousho_cli.tui.state.paging import number_of

_BAR = 12


def usage(shown: Shown) -> tuple[Node, ...]:
    """Sums first, then every model call with a bar of its tokens."""
    nodes = [*_totals("u.run", "this run, so far", shown.usage)]
    if shown.usage.delegated.runs:
        nodes += _totals("u.sub", f"its {shown.usage.delegated.runs} sub-agent runs", shown.usage.delegated)
    if shown.session_usage is not None and shown.session_usage.total_tokens != shown.usage.all.total_tokens:
        nodes += _totals("u.session", "all runs of the session", shown.session_usage)
    if len(shown.usage.by_model) > 1:
        nodes.append(Node("u.models", label="by model", children=lambda: tuple(_models(shown)), opened=True))
    if shown.step_usage:
        nodes.append(Node("u.steps", label="model calls", children=lambda: tuple(_steps(shown)), opened=True))
    return tuple(nodes)


def _totals(key: str, name: str, totals: Any) -> Iterator[Node]:
    if not totals.model_calls:
        yield Node(key, "no model was asked", "faint", label=name)
        return
    yield Node(
        key,
        f"{about(totals.total_tokens, totals.estimated)} tokens, {money(totals.cost_usd)}",
        label=name,
        children=lambda: tuple(_parts(key, totals)),
        opened=True,
    )


def _parts(key: str, totals: Any) -> Iterator[Node]:
    yield Node(
        f"{key}.in",
        f"{totals.input_tokens:,}".replace(",", " "),
        "number",
        label="in",
        aside=_of(totals, cached_input_tokens="cached", cache_write_tokens="written to a cache"),
    )
    yield Node(
        f"{key}.out", f"{totals.output_tokens:,}".replace(",", " "), "number", label="out", aside=_of(totals, reasoning_tokens="reasoning")
    )
    yield Node(
        f"{key}.calls",
        str(totals.model_calls),
        "number",
        label="calls",
        aside="not every call was reported: tokens are a guess" if totals.estimated else "",
    )


def _of(totals: Any, **parts: str) -> str:
    said = [f"{number_of(getattr(totals, field))} {word}" for field, word in parts.items() if getattr(totals, field)]
    return f"of them {', '.join(said)}" if said else ""


def _models(shown: Shown) -> Iterator[Node]:
    for name, share in shown.usage.by_model.items():
        tokens = about(share.input_tokens + share.output_tokens, share.estimated)
        yield Node(
            f"u.model.{name}",
            f"{tokens} tokens, {share.calls} call{'' if share.calls == 1 else 's'}, {money(share.cost_usd)}",
            label=name or "(no name)",
        )


def _steps(shown: Shown) -> Iterator[Node]:
    most = max(step.total_tokens for step in shown.step_usage)
    one_model = len({step.model for step in shown.step_usage}) == 1
    width = len(str(shown.step_usage[-1].step))
    for step in shown.step_usage:
        counts = (about(step.input_tokens, step.estimated), about(step.output_tokens, step.estimated))
        said = f"{bar(step.total_tokens, most)} {counts[0]:>6} in {counts[1]:>6} out"
        aside = f"{money(step.cost_usd)}{'' if one_model else '  ' + step.model}"
        yield Node(f"u.step.{step.step}", said, "number", label=f"step {step.step:>{width}}", aside=aside)


def bar(value: int, most: int, width: int = _BAR) -> str:
    """A bar of block characters, ``width`` cells where it is the most."""
    eighths = round(value * width * 8 / most) if most else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")).ljust(width)


def about(count: int, estimated: bool) -> str:
    """A count in short; ``~`` in front of a guess."""
    return f"{'~' if estimated else ''}{number_of(count)}"


def money(cost: float | None) -> str:
    """An amount of US dollars in short."""
    if cost is None:
        return "cost unknown"
    if cost == 0:
        return "$0"
    return f"${cost:.2f}" if cost >= 0.995 else f"${cost:.4f}" if cost >= 0.00005 else "<$0.0001"
