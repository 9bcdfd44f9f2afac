"""Where a person is in a document whose lines are counted only where they are seen. Pure.

A place is an item and a line in it. How many lines an item has is asked for one by one, around what is seen: never of
all, as laying out a transcript of thousands of messages would take seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Height = Callable[[int], int]
"""How many lines the item at an index has, at least one."""


class Spot(NamedTuple):
    """A line of a document: of the item at an index, counted from 0."""

    item: int = 0
    line: int = 0


def moved(spot: Spot, by: int, count: int, height: Height) -> Spot:
    """So many lines further down, or up where that is negative; no further than the first and the last line."""
    if not count:
        return Spot()
    item, line = min(spot.item, count - 1), spot.line + by
    while line < 0 and item:
        item -= 1
        line += height(item)
    while line >= (tall := height(item)):
        if item == count - 1:
            return Spot(item, tall - 1)
        item += 1
        line -= tall
    return Spot(item, max(line, 0))


def distance(top: Spot, spot: Spot, most: int, height: Height) -> int:
    """How many lines ``spot`` is below ``top``; ``most`` where it is at least so many, -1 where it is above."""
    if spot < top:
        return -1
    found, item = -top.line, top.item
    while item < spot.item and found < most:
        found += height(item)
        item += 1
    return most if item < spot.item else min(found + spot.line, most)


def following(top: Spot, spot: Spot, rows: int, count: int, height: Height) -> Spot:
    """The top line that has ``spot`` in view on ``rows`` lines, as near to ``top`` as can be, and no empty lines at the end."""
    rows = max(rows, 1)
    away = distance(top, spot, rows, height)
    if away < 0:
        top = spot
    elif away >= rows:
        top = moved(spot, 1 - rows, count, height)
    last = moved(Spot(count - 1, max(height(count - 1) - 1, 0)), 1 - rows, count, height) if count and _near_end(top, rows, count) else top
    return min(top, last)


def _near_end(top: Spot, rows: int, count: int) -> bool:
    """Whether the end may be in view: every item has at least a line."""
    return count - top.item <= rows
