"""What a checkpoint has that the one before it had not, as nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lousho_cli.app.showing import Shown
from lousho_cli.tui.state.fingerprint import fingerprint_changes
from lousho_cli.tui.state.json_tree import json_node
from lousho_cli.tui.state.outline import Node
from lousho_cli.tui.state.paging import number_of
from lousho_cli.tui.state.transcript import transcript

_MOST = 200
"""So many differences of the business state are listed."""


def changes(shown: Shown, before: Shown | None) -> tuple[Node, ...]:
    """The differences between a checkpoint and the one before; without one, a line that says so."""
    if before is None:
        return (Node("c.none", tone="faint", aside="no kept checkpoint stands before this one"),)
    nodes = [
        Node("c.before", before.address or before.session, "faint", label="since", label_tone="faint"),
        *_messages(shown, before),
        *_facts(shown, before),
        *_state(shown.business_state, before.business_state),
        *fingerprint_changes(shown, before),
    ]
    if len(nodes) == 1:
        nodes.append(Node("c.same", tone="faint", aside="nothing that is shown here changed"))
    return tuple(nodes)


def _messages(shown: Shown, before: Shown) -> Iterator[Node]:
    same = common(shown, before)
    gone = len(before.messages) - same
    if gone:
        yield Node(
            "c.gone",
            tone="removed",
            label=f"− {_messages_said(gone)} taken away",
            label_tone="removed",
            children=lambda: tuple(_keyed("gone.", node) for node in transcript(before, same)),
        )
    added = len(shown.messages) - same
    if added:
        yield Node(
            "c.added",
            tone="added",
            label=f"+ {_messages_said(added)} added",
            label_tone="added",
            children=lambda: transcript(shown, same),
            opened=True,
        )


def common(shown: Shown, before: Shown) -> int:
    """How many messages both begin with."""
    most = min(len(shown.messages), len(before.messages))
    low, high = 0, most
    if high and shown.messages[high - 1] is before.messages[high - 1]:
        return most  # both grew out of one list, which only ever grows
    while low < high and (shown.messages[low] is before.messages[low] or shown.messages[low] == before.messages[low]):
        low += 1
    return low


def _keyed(prefix: str, node: Node) -> Node:
    below = (lambda: tuple(_keyed(prefix, one) for one in node.below)) if node.children is not None else None
    return msgspec.structs.replace(node, key=prefix + node.key, children=below, data=None)


def _messages_said(count: int) -> str:
    return f"{count} message{'' if count == 1 else 's'}"


def _facts(shown: Shown, before: Shown) -> Iterator[Node]:
    for name, old, new in (
        ("status", before.status, shown.status),
        ("finish reason", before.finish_reason, shown.finish_reason),
        ("step", before.step, shown.step),
    ):
        if old != new:
            yield Node(f"c.{name}", f"{old} → {new}", label=name)
    tokens = shown.usage.all.total_tokens - before.usage.all.total_tokens
    if tokens:
        sign = "+" if tokens > 0 else "−"
        yield Node("c.tokens", f"{sign}{number_of(abs(tokens))}", "number", label="tokens")


def _state(new: Any, old: Any) -> Iterator[Node]:
    if new == old:
        return
    found = list(_differences("", old, new))
    yield Node(
        "c.state",
        label=f"business state: {len(found)} change{'' if len(found) == 1 else 's'}",
        children=lambda: tuple(_difference(at, *one) for at, one in enumerate(found[:_MOST])),
        opened=True,
    )


_GONE = object()


def _differences(place: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            a, b = old.get(name, _GONE), new.get(name, _GONE)
            if a is _GONE or b is _GONE or a != b:
                yield from _differences(f"{place}.{name}" if place else str(name), a, b)
    elif isinstance(old, list) and isinstance(new, list):
        for at in range(max(len(old), len(new))):
            a = old[at] if at < len(old) else _GONE
            b = new[at] if at < len(new) else _GONE
            if a is _GONE or b is _GONE or a != b:
                yield from _differences(f"{place}[{at}]", a, b)
    else:
        yield place or "(all of it)", old, new


def _difference(at: int, place: str, old: Any, new: Any) -> Node:
    key = f"c.state.{at}"
    below: list[Node] = []
    if old is not _GONE:
        below.append(msgspec.structs.replace(json_node(f"{key}.old", "−", old), label_tone="removed"))
    if new is not _GONE:
        below.append(msgspec.structs.replace(json_node(f"{key}.new", "+", new), label_tone="added"))
    return Node(key, label=place, children=lambda: tuple(below), opened=True)
