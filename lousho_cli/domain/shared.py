"""An append-only list that many frozen values share.

A session of 100,000 messages must not copy them at each step. So the values of
successive steps hold the same list and differ only in where they end. Appending to
the newest shares the list; appending to an older one copies it, which is what keeps
a fork from writing into its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")

_new = object.__new__

_DROPPED = 64
"""So many items that were dropped from the front are kept before the rest moves to a list of its own."""


class Shared(Sequence[T], Generic[T]):
    """``items[start:end]`` of a list that only grows. Treat it as a tuple: it never changes."""

    __slots__ = ("_end", "_items", "_start")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._start = 0
        self._end = len(self._items)

    @classmethod
    def _view(cls, items: list[T], start: int, end: int) -> Shared[T]:
        new: Shared[T] = _new(cls)
        new._items, new._start, new._end = items, start, end
        return new

    def head(self, count: int) -> Shared[T]:
        """The first ``count`` items, sharing the list."""
        return Shared._view(self._items, self._start, min(self._start + count, self._end))

    def behind(self, place: int) -> list[T]:
        """The items from ``place`` on, none where there are not so many: a slice, in a third of the time."""
        return self._items[self._start + place : self._end]

    def shares_with(self, other: Shared[T]) -> bool:
        """Whether both are views of one list, beginning at the same place."""
        return self._items is other._items and self._start == other._start

    @property
    def last(self) -> T | None:
        """The newest item, None where there is none."""
        return self._items[self._end - 1] if self._end > self._start else None

    def __len__(self) -> int:
        return self._end - self._start

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._end - self._start)
            return self._items[self._start + start : self._start + stop : step] if step > 0 else list(self)[index]
        at = index + (self._end if index < 0 else self._start)
        if not self._start <= at < self._end:
            raise IndexError(index)
        return self._items[at]

    def __iter__(self) -> Iterator[T]:
        items = self._items
        for index in range(self._start, self._end):
            yield items[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shared):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by content, like a list

    def __repr__(self) -> str:
        # Short on purpose: asyncio takes the repr of a task's result when it restores a signal handler.
        return f"<{len(self)} shared items>"


class Growing(Generic[T]):
    """The end of a ``Shared`` being appended to in place; ``view`` gives the values others hold."""

    __slots__ = ("_items", "_seen", "_start", "end")

    end: int
    """The place behind the newest item. Where nothing was ever dropped in front it is how many there are."""

    def __init__(self, view: Shared[T]) -> None:
        self._items, self._start, self.end = view._items, view._start, view._end
        self._seen: Shared[T] | None = view

    def append(self, item: T) -> None:
        """Adds one item. Shares the list while nobody else grew it."""
        items = self._items
        if len(items) != self.end:
            items = self._items = items[self._start : self.end]
            self._start, self.end = 0, len(items)
        items.append(item)
        self.end += 1
        self._seen = None

    def extend(self, more: Iterable[T]) -> None:
        """Adds several items."""
        for item in more:
            self.append(item)

    def keep_newest(self, count: int) -> None:
        """Drops all but the last ``count`` from this end, none for less than one; views given earlier keep theirs."""
        start = self.end - count if count > 0 else self.end
        if start <= self._start:
            return
        self._start, self._seen = start, None
        # Now and then what nobody sees is let go. That copies no more items than were dropped since the last time.
        if start >= _DROPPED and start >= count:
            self._items = self._items[start : self.end]
            self._start, self.end = 0, len(self._items)

    def view(self) -> Shared[T]:
        """What is there now, as a value; the same one for as long as nothing changes."""
        seen = self._seen
        if seen is None:
            seen = self._seen = _new(Shared)
            seen._items, seen._start, seen._end = self._items, self._start, self.end
        return seen

    @property
    def last(self) -> T | None:
        """The newest item, None where there is none."""
        return self._items[self.end - 1] if self.end > self._start else None

    def __len__(self) -> int:
        return self.end - self._start

    def __iter__(self) -> Iterator[T]:
        return iter(self.view())
