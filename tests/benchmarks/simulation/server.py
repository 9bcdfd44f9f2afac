"""The server of the simulation: processors that statements queue for, and a disk that takes any number of commits at once."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque


class Server:
    """Serves in the order in which it is asked.

    used: seconds of processors, by kind of statement; asked: how many. waits: how long each waited for a processor, seconds.
    begun_at: when the last one got it.
    """

    def __init__(self, processors: int, flush_s: float) -> None:
        self._free = [0.0] * processors
        self._flush_s = flush_s
        self._notified = 0.0
        self._begins: deque[float] = deque()
        self.begun_at = 0.0
        self.reset()

    def reset(self) -> None:
        """Begins to count anew."""
        self.used: dict[str, float] = defaultdict(float)
        self.asked: dict[str, int] = defaultdict(int)
        self.waits: list[float] = []
        self.longest_queue = 0

    def serve(self, at: float, kind: str, us: float, commits: float = 0, *, notifies: bool = False) -> float:
        """When something that is asked at a time is done.

        Args:
            us: microseconds of a processor. commits: how often it waits for the disk.
            notifies: it is told to others. Only one such commit is under way in a server.
        """
        begins = self.begun_at = max(at, self._free[0])
        ends = begins + us / 1e6
        heapq.heapreplace(self._free, ends)
        self.used[kind] += us / 1e6
        self.asked[kind] += 1
        self._queued(at, begins)
        if notifies:
            self._notified = max(ends, self._notified) + self._flush_s
            return self._notified
        return ends + commits * self._flush_s

    def _queued(self, at: float, begins: float) -> None:
        while self._begins and self._begins[0] <= at:
            self._begins.popleft()
        self._begins.append(begins)
        self.longest_queue = max(self.longest_queue, len(self._begins) - (begins <= at))
        self.waits.append(begins - at)
