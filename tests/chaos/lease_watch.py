"""Watches the leases on the server itself: a process that renews too late may lose its sessions, though nobody did anything to it.

A machine that has too much to do is reason enough. Without this, such a takeover would look like one without a cause.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType

import psycopg
from crew import Crew
from diary import Diary

EVERY_S = 0.1
_LATE = 0.6
"""Of a lease: from so long a pause between two renewals on the diary tells of it."""


class LeaseWatch:
    """Notes in the diary who renewed late, while the block runs."""

    def __init__(self, url: str, crew: Crew, lease_s: int, diary: Diary) -> None:
        self._url, _, schema = url.partition("?schema=")
        self._asks = f"SELECT token, pid, renewed_ms FROM {schema}.owners"
        self._crew, self._late_ms, self._diary = crew, lease_s * 1000 * _LATE, diary
        self._renewed: dict[str, tuple[int, int]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LeaseWatch:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(20)
        for pid, renewed_ms in self._renewed.values():
            self._note("renewed no more", pid, renewed_ms, time.time() * 1000)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as connection:
                    while not self._over.wait(EVERY_S):
                        self._look(connection.execute(self._asks).fetchall())
            except psycopg.Error:
                self._over.wait(EVERY_S)  # the server is away, of which the diary tells

    def _look(self, rows: list[tuple[str, int, int]]) -> None:
        for token, pid, renewed_ms in rows:
            before = self._renewed.get(token, (pid, renewed_ms))[1]
            self._renewed[token] = (pid, renewed_ms)
            self._note("was late", pid, before, renewed_ms)

    def _note(self, what: str, pid: int, renewed_ms: float, again_ms: float) -> None:
        for place in self._crew.workers if again_ms - renewed_ms > self._late_ms else ():
            if pid in place.pids:
                self._diary.note(what, place.name, pid, renewed_ms / 1000, again_ms / 1000)
