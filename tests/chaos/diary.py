"""What was done to whom, and when: why a session may have gone from one process to another."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import NamedTuple

EVERYBODY = "everybody"


class Entry(NamedTuple):
    """Something that was done: to the process in a place, or to everybody, from when to when, in seconds since 1970."""

    what: str
    place: str
    pid: int
    since: float
    until: float


class Diary:
    """Entries, kept in a file too."""

    def __init__(self, file: Path) -> None:
        self.entries: list[Entry] = []
        self._file = file
        self._turn = threading.Lock()

    def note(self, what: str, place: str, pid: int, since: float, until: float | None = None) -> None:
        """Something was done; ``until`` now, where that is None."""
        entry = Entry(what, place, pid, since, time.time() if until is None else until)
        with self._turn, self._file.open("a") as file:
            self.entries.append(entry)
            file.write(f"{entry.since:.3f} to {entry.until:.3f}  {what}  {place} {pid or ''}\n")

    def tells(self, place: str, since: float, until: float) -> bool:
        """Whether something was done to a place, or to everybody, within a time, or reached into it."""
        return any(one.place in (place, EVERYBODY) and one.since <= until and one.until >= since for one in self.entries)
