"""What of an agent a model could see at a checkpoint, and what of that changed, as nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lousho_cli.app.showing import Shown
from lousho_cli.tui.state.outline import Node


def fingerprint(shown: Shown, before: Shown | None) -> tuple[Node, ...]:
    """The fingerprint of a checkpoint's agent, part by part; what differs from the checkpoint before is marked."""
    told = [Node("f.agent", shown.agent or "(no name)", label="agent")]
    if shown.parent is not None:
        at = f" at step {shown.parent_step}" if shown.parent_step is not None else ""
        told.append(Node("f.parent", f"{shown.parent}{at}", label="forked from"))
    print_ = shown.fingerprint
    if print_ is None:
        return (*told, Node("f.none", tone="faint", aside="no fingerprint was recorded"))
    changed = {node.key: node for node in (fingerprint_changes(shown, before) if before is not None else ())}
    told += [
        Node("f.hash", print_.hash, "number", label="fingerprint"),
        Node("f.model", print_.model or "(the provider's own)", label="model"),
        Node("f.instructions", print_.instructions or "(none)", "number", label="instructions"),
        Node(
            "f.tools",
            label=f"tools ({len(print_.tools)})",
            children=lambda: tuple(Node(f"f.tool.{name}", hash_, "number", label=name) for name, hash_ in sorted(print_.tools.items())),
            opened=True,
        )
        if print_.tools
        else Node("f.tools", "(none)", "faint", label="tools"),
    ]
    if set(shown.tools) != set(print_.tools):
        told.append(Node("f.offered", ", ".join(shown.tools) or "(none)", look="text", label="offered"))
    if changed:
        told.append(
            Node(
                "f.changed",
                label="changed since the checkpoint before",
                label_tone="warning",
                children=lambda: tuple(changed.values()),
                opened=True,
            )
        )
    return tuple(told)


def fingerprint_changes(shown: Shown, before: Shown) -> Iterator[Node]:
    """One line for each part of the agent that differs."""
    old, new = before.fingerprint, shown.fingerprint
    if old is None or new is None or old == new:
        return
    if old.model != new.model:
        yield Node(
            "d.model", f"{old.model or 'unknown'} → {new.model or 'unknown'}", "warning", label="model changed", label_tone="warning"
        )
    if old.instructions != new.instructions:
        yield Node(
            "d.instructions", f"{old.instructions} → {new.instructions}", "warning", label="instructions changed", label_tone="warning"
        )
    for name in sorted(old.tools.keys() | new.tools.keys()):
        a, b = old.tools.get(name), new.tools.get(name)
        if a is None:
            yield Node(f"d.tool.{name}", b or "", "added", label=f"+ tool {name}", label_tone="added")
        elif b is None:
            yield Node(f"d.tool.{name}", a, "removed", label=f"− tool {name}", label_tone="removed")
        elif a != b:
            yield Node(f"d.tool.{name}", f"{a} → {b}", "warning", label=f"tool {name} changed", label_tone="warning")
