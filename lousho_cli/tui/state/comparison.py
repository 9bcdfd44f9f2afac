"""Two runs side by side: the verdict of ``lousho diff``, and each side as a document whose steps stand at the same place. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET

from lousho_cli.tui.state.outline import Node
from lousho_cli.tui.state.paging import number_of, text_nodes

if TYPE_CHECKING:
    from lousho_cli.app.comparing import Compared
    from lousho_cli.core.alignment import Change, Pair
    from lousho_cli.core.trajectory import StepCall

MOST_CHANGES = 100
"""Differences that are listed before the rest is only counted."""
_WIDTH = 400
"""Characters of each value in the list of differences."""


def verdict(a: str, b: str, compared: Compared) -> tuple[Node, ...]:
    """Where they part first, every difference, what drifted, and the tokens of both."""
    if compared.diverged_at is None:
        first = Node("first", f"{a} and {b} do not differ in any of {len(compared.a)} steps", "good", "text")
    else:
        first = Node("first", f"{a} and {b} part at step {compared.diverged_at}", "warning", "text")
    return (first, *_changes(compared), *_drift(compared), *_used(compared))


def _changes(compared: Compared) -> Iterator[Node]:
    for at, change in enumerate(compared.changes[:MOST_CHANGES]):
        yield Node(f"c{at}", _said(change), _TONES[change.kind], "text", label=_SIGNS[change.kind], label_tone=_TONES[change.kind])
    if len(compared.changes) > MOST_CHANGES:
        yield Node("more", f"and {len(compared.changes) - MOST_CHANGES} more; lousho diff --json has all", "faint")


_SIGNS = {"added": "+", "removed": "−", "changed": "≠"}
_TONES: dict[str, Literal["added", "removed", "warning"]] = {"added": "added", "removed": "removed", "changed": "warning"}


def _said(change: Change) -> str:
    if change.kind == "changed" and change.a is UNSET:
        said = f"{change.where}: added {_json(change.b)}"
    elif change.kind == "changed" and change.b is UNSET:
        said = f"{change.where}: removed {_json(change.a)}"
    else:
        said = change.describe(_WIDTH)
    return f"{said} … and {change.more} more places" if change.more else said


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


def _drift(compared: Compared) -> Iterator[Node]:
    for row in compared.drift:
        yield Node(f"d.{row.field}", f"{row.committed} → {row.current}", "plain", "text", label=f"drift of {row.field}")


def _used(compared: Compared) -> Iterator[Node]:
    yield Node("tokens", f"{number_of(compared.tokens.a)} and {number_of(compared.tokens.b)}", label="tokens")
    costs = [used.cost_usd for used in (compared.usage.a, compared.usage.b)]
    if any(cost is not None for cost in costs):
        yield Node("cost", " and ".join("unknown" if cost is None else f"${cost:.4f}" for cost in costs), label="cost")


def side(compared: Compared, pairs: list[Pair], which: Literal["a", "b"]) -> tuple[Node, ...]:
    """One side: a node for each pair of steps, opened where the two differ."""
    differs = _differing(compared)
    return tuple(_pair(compared, at, pair, which, opened=pair in differs) for at, pair in enumerate(pairs))


def differing(compared: Compared, pairs: list[Pair]) -> list[int]:
    """The pairs in which the sides differ, by their index."""
    found = _differing(compared)
    return [at for at, pair in enumerate(pairs) if pair in found]


def _differing(compared: Compared) -> set[object]:
    """The pairs that differ, as indexes of their steps."""
    return {
        (change.a_step - 1 if change.a_step is not None else None, change.b_step - 1 if change.b_step is not None else None)
        for change in compared.changes
    }


def _pair(compared: Compared, at: int, pair: Pair, which: Literal["a", "b"], *, opened: bool) -> Node:
    index = pair[0] if which == "a" else pair[1]
    key = f"p{at}"
    sign = "≠" if opened else "="
    if index is None:
        return Node(key, label=f"{sign} no such step", label_tone="faint")
    step = (compared.a if which == "a" else compared.b)[index]
    names = ", ".join(call.name for call in step.tools)
    aside = f"calls {names}" if names else "answer"

    def below() -> tuple[Node, ...]:
        nodes = [*text_nodes(f"{key}.text", step.text)] if step.text else []
        for number, call in enumerate(step.tools):
            nodes += _call(f"{key}.{number}", call)
        return tuple(nodes)

    tone: Literal["warning", "good"] = "warning" if opened else "good"
    return Node(key, label=f"{sign} step {index + 1}", label_tone=tone, aside=aside, children=below, opened=opened)


def _call(key: str, call: StepCall) -> Iterator[Node]:
    yield Node(f"{key}.args", call.args, "plain", "text", label=f"calls {call.name}", label_tone="tool")
    if call.result is None:
        yield Node(f"{key}.result", "no result yet", "faint", label="gave", label_tone="tool")
    else:
        pages = text_nodes(f"{key}.result", call.result)
        if len(pages) == 1:
            yield Node(f"{key}.result", call.result, "plain", "text", label="gave", label_tone="tool")
        else:
            yield Node(f"{key}.result", label="gave", label_tone="tool", children=lambda: pages, opened=True)
