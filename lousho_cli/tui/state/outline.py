"""A document of nodes that open and close, as the list of those that can be seen. Pure.

Everything a checkpoint is shown as is such a document: a transcript, a tree of JSON, a table. Children are made when they
are first wanted, so a value of a million entries costs nothing until somebody opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec

Tone = Literal[
    "plain",
    "heading",
    "faint",
    "system",
    "user",
    "assistant",
    "tool",
    "error",
    "warning",
    "good",
    "key",
    "string",
    "number",
    "constant",
    "added",
    "removed",
]
"""What a text is, by which a widget chooses its colour. Where it matters a word or a sign says it too."""

Look = Literal["line", "text", "markdown"]
"""How a text is laid out: one line cut at the edge, wrapped lines, or Markdown."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """One thing in a document. Of a long one there are thousands, so the garbage collector is not told of them.

    key: unlike that of any other node, and the same in the next checkpoint for the same thing.
    text: what it says, whole; label: a word in front of it; aside: a remark behind it, which no search looks into.
    children: gives what is below it, None where nothing ever is; called with ``data`` where that is there.
    opened: whether what is below is seen from the start.
    """

    key: str
    text: str = ""
    tone: Tone = "plain"
    look: Look = "line"
    label: str = ""
    label_tone: Tone = "key"
    aside: str = ""
    children: Callable[..., Sequence[Node]] | None = None
    opened: bool = False
    data: Any = None

    @property
    def below(self) -> Sequence[Node]:
        """What is below it; nothing where nothing ever is."""
        if self.children is None:
            return ()
        return self.children() if self.data is None else self.children(self.data)


class Item(msgspec.Struct, frozen=True, gc=False):
    """A node that can be seen, ``depth`` levels down. ``path``: the keys that lead to it, its own last."""

    node: Node
    depth: int
    path: tuple[str, ...]
    opened: bool


class Outline:
    """What can be seen of a document, from top to bottom.

    Args:
        roots: its nodes at the top.
        choices: what the person opened and closed, by key; kept up to date, so that another checkpoint can be given the same.
    """

    def __init__(self, roots: Sequence[Node], choices: dict[str, bool] | None = None) -> None:
        self.roots = roots
        self.choices = {} if choices is None else choices
        self.items: list[Item] = []
        self._add(self.items, roots, 0, ())

    def _add(self, into: list[Item], nodes: Iterable[Node], depth: int, path: tuple[str, ...]) -> None:
        choices = self.choices
        for node in nodes:
            own = (*path, node.key)
            opened = node.children is not None and choices.get(node.key, node.opened)
            into.append(Item(node, depth, own, opened))
            if opened:
                self._add(into, node.below, depth + 1, own)

    def toggle(self, at: int) -> bool:
        """Opens or closes the item at an index; False where there is nothing to open."""
        item = self.items[at]
        if item.node.children is None:
            return False
        self._set(at, opened=not item.opened)
        return True

    def _set(self, at: int, *, opened: bool) -> None:
        item = self.items[at]
        self.choices[item.node.key] = opened
        self.items[at] = msgspec.structs.replace(item, opened=opened)
        if not opened:
            self.items[at + 1 : self._end(at)] = []
        else:
            below: list[Item] = []
            self._add(below, item.node.below, item.depth + 1, item.path)
            self.items[at + 1 : at + 1] = below

    def _end(self, at: int) -> int:
        """Behind the last item below one."""
        depth, end = self.items[at].depth, at + 1
        while end < len(self.items) and self.items[end].depth > depth:
            end += 1
        return end

    def parent(self, at: int) -> int | None:
        """The index of the item above, None at the top."""
        depth = self.items[at].depth
        while at and self.items[at].depth >= depth:
            at -= 1
        return at if depth and self.items[at].depth < depth else None

    def choose_top(self) -> None:
        """Has everything at the top closed, or opened where nothing is open, in the next outline that is given these choices."""
        nodes = [node for node in self.roots if node.children is not None]
        opened = not any(self.choices.get(node.key, node.opened) for node in nodes)
        self.choices.update((node.key, opened) for node in nodes)

    def find(self, path: Sequence[str]) -> int | None:
        """The index of a node that can be seen; of the nearest one above it where it can not; None where that is gone."""
        wanted = {tuple(path[:length]) for length in range(1, len(path) + 1)}
        best = None
        for at, item in enumerate(self.items):
            if item.path in wanted:
                best = at
        return best

    def open_to(self, path: Sequence[str]) -> int | None:
        """Opens whatever hides a node; its index then, None where there is no such node."""
        for length in range(1, len(path)):
            at = self.find(path[:length])
            if at is None or self.items[at].path != tuple(path[:length]):
                return None
            if not self.items[at].opened:
                self._set(at, opened=True)
        at = self.find(path)
        return at if at is not None and self.items[at].path == tuple(path) else None

    def of_top(self, at: int) -> int:
        """The index of the item at the top that one belongs to."""
        while at and self.items[at].depth:
            at -= 1
        return at
