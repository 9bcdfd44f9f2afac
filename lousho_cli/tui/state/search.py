"""Searching a whole document, what is closed and what was never drawn included. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from lousho_cli.tui.state.outline import Node

MOST = 10_000
"""So many hits are found; then it is said that there are more."""


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One place where the words stand: the way to its node, and which of the hits in that node it is, from 0."""

    path: tuple[str, ...]
    nth: int


class Found(NamedTuple):
    """What a search found, in the order of the document. ``more``: there are further ones that were not looked for."""

    words: str
    hits: tuple[Hit, ...] = ()
    more: bool = False

    def said(self, at: int | None) -> str:
        """How many there are, and which is shown: ``3 of 17``."""
        if not self.hits:
            return "not found"
        count = f"{len(self.hits)}{'+' if self.more else ''}"
        return f"{at + 1} of {count}" if at is not None else count


def pattern(words: str) -> re.Pattern[str]:
    """What finds the words in a text: as they stand, capitals or not."""
    return re.compile(re.escape(words), re.IGNORECASE)


def search(roots: Sequence[Node], words: str, stopped: Callable[[], bool] = lambda: False) -> Found:
    """Every place where the words stand.

    Args:
        stopped: asked now and then; True gives up, with what was found so far.
    """
    if not words:
        return Found(words)
    wanted = pattern(words)
    hits: list[Hit] = []
    for count, (path, node) in enumerate(_all(roots)):
        if count % 256 == 0 and stopped():
            return Found(words, tuple(hits), more=True)
        nth = 0
        for text in (node.label, node.text):
            for _ in wanted.finditer(text):
                hits.append(Hit(path, nth))
                nth += 1
                if len(hits) >= MOST:
                    return Found(words, tuple(hits), more=True)
    return Found(words, tuple(hits))


def _all(roots: Sequence[Node]) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Every node with the way to it, however deep they stand."""
    levels: list[tuple[tuple[str, ...], Iterator[Node]]] = [((), iter(roots))]
    while levels:
        path, nodes = levels[-1]
        node = next(nodes, None)
        if node is None:
            levels.pop()
            continue
        own = (*path, node.key)
        yield own, node
        if node.children is not None:
            levels.append((own, iter(node.below)))


def first_at(found: Found, before: Sequence[tuple[str, ...]]) -> int:
    """The first hit that does not stand in front of where the person is.

    Args:
        before: the ways to the nodes that do, from the top.
    """
    passed = set(before)
    return next((at for at, hit in enumerate(found.hits) if hit.path[:1] not in passed), 0)
