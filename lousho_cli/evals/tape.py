"""A cassette while it is in use: what of it was played, what is recorded, and when it is written.

A file says whether the run it was recorded from has ended (``open``). One that has not is gone on with:
its entries are played, and what lies behind them is asked for and recorded. So a run that is paused or
killed, and goes on in another process, goes on in the same file:

- The process that goes on begins at the first entry that equals its first call and has an answer.
  That also finds an answer that was recorded and not saved in the session any more.
- What has no equal entry is asked for and added to a file that is open; a file that is not refuses it.
- The file is no longer open once a run over it has finished.

Every write replaces the whole file, one after the other; an answer is written before anybody is told of it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from weakref import WeakKeyDictionary

from lousho_cli import __version__
from lousho_cli.domain.times import stamp
from lousho_cli.errors import CassetteError, CassetteMismatchError, ConfigurationError
from lousho_cli.evals.cassette_file import (
    UNWRITABLE,
    VERSION,
    CassetteFile,
    Entry,
    Identity,
    Request,
    Wrapped,
    check_folder,
    identity_of,
    invalid,
    read_cassette,
    write_cassette,
)
from lousho_cli.evals.cassette_matching import Match, Matching, key_of, short_key
from lousho_cli.evals.recorded import Normalize, request_of
from lousho_cli.evals.redact import Redact, redactor
from lousho_cli.ports.provider import ModelRequest

Mode = Literal["record", "replay", "auto"]

EXHAUSTED = "LOUSHO_CASSETTE_EXHAUSTED"


class Slot:
    """The place of a call that is being recorded. Its entry comes when it has ended; without one it is left out."""

    def __init__(self, request: Request, lane: int, beside: tuple[int, ...]) -> None:
        self.request, self.lane, self.beside = request, lane, beside
        self.entry: Entry | None = None


class Tape:
    """One cassette file in use by one process. What it does is fixed when it is made.

    Args:
        mode: ``record`` replaces the file, ``replay`` only plays it, ``auto`` plays a file that is there, else records.
        match: see ``cassette_matching``.
        normalize, redact: see ``recorded`` and ``redact``.
        goes_on: it is used for a session that has begun before.
        stays_open: a file that is begun here is open until ``complete``.
        clean: what ``redactor`` made, where many cassettes are played one after the other.
        bare: one that is not there is played as one that holds no call.

    Raises:
        CassetteError: the file can not be used, or there is none to replay.
        ConfigurationError: there is no such mode or match.
    """

    def __init__(
        self,
        path: Path,
        mode: Mode = "auto",
        match: Match = "sequence",
        normalize: Normalize | None = None,
        redact: Redact | None = None,
        *,
        goes_on: bool = False,
        stays_open: bool = False,
        clean: Redact | None = None,
        bare: bool = False,
    ) -> None:
        _one_of("mode", mode, ("record", "replay", "auto"))
        _one_of("match", match, ("sequence", "request"))
        self.path, self.redact = path, clean or redactor(redact, os.environ)
        self._normalize, self._goes_on = normalize, goes_on
        self._replaces = mode == "record"
        self._seen: Identity | None = None if self._replaces else identity_of(path)
        self.file = None if self._replaces else read_cassette(path)
        if mode == "replay" and self.file is None and not bare:
            raise invalid(path, "is not there", f"Record it first: run once without it in mode auto, or in mode record ({path}).")
        self.records = mode != "replay" and (self.file is None or self.file.open)
        entries = self.file.entries if self.file else ()
        self._open = self.file.open if self.file else stays_open
        self._matching = Matching(entries, match, goes_on=goes_on)
        self._recorded: list[Slot] = []
        self._lanes: WeakKeyDictionary[asyncio.Task[object], int] = WeakKeyDictionary()
        self._next_lane = 1 + max((entry.lane for entry in entries), default=-1)
        self._wrapped = self.file.provider if self.file else None
        self._calls = self._version = self._written = 0
        self._began = self.file.recorded_at if self.file else stamp(datetime.now(UTC))
        self._lock = threading.Lock()

    @property
    def plays(self) -> int:
        """How many recorded calls there are to play."""
        return len(self.file.entries) if self.file else 0

    @property
    def recorded(self) -> int:
        """How many calls were recorded here so far."""
        return sum(slot.entry is not None for slot in self._recorded)

    @property
    def plays_on(self) -> bool:
        """Whether the next call of the conversation that asks is played, too, or fails."""
        return not self.records or not self._matching.over(self._lanes.get(_task()))

    def take(self, asked: ModelRequest) -> Entry | Slot:
        """What answers a call: an entry to play, or a place to record it in.

        Raises:
            CassetteMismatchError: it is none that was recorded, and nothing may be recorded.
            HookError: ``normalize`` or ``redact`` failed.
        """
        self._calls += 1
        request = request_of(asked, self.redact, self._normalize)
        lane = self._lanes.get(_task())
        entry = self._matching.take(request)
        if entry is not None:
            self._lanes[_task()] = entry.lane
            return entry
        if not self.records or not (self._goes_on or self._matching.over(lane)):
            raise self._mismatch(request)
        beside = {of for task, of in self._lanes.items() if not task.done() and task is not _task()}
        if lane is None:
            lane, self._next_lane = self._next_lane, self._next_lane + 1
            self._lanes[_task()] = lane
        self._recorded.append(slot := Slot(request, lane, tuple(sorted(beside - {lane}))))
        return slot

    def _mismatch(self, request: Request) -> CassetteMismatchError:
        difference = self._matching.nearest(request)
        again = f"If that is meant, record again: delete {self.path} and run once more, or use mode record."
        if difference is None:
            return CassetteMismatchError(
                f"call {self._calls} is one more than the cassette {self.path} holds: its {self.plays} entries are used up",
                path=str(self.path),
                call=self._calls,
                code=EXHAUSTED,
                hint=again,
            )
        return CassetteMismatchError(
            f"call {self._calls} is not the one that the cassette {self.path} holds: {difference.path} is {difference.now}, "
            f"recorded was {difference.recorded} (its key is {short_key(key_of(request))}, nearest is entry {difference.entry}, "
            f"{difference.key})",
            path=str(self.path),
            call=self._calls,
            at=difference.path,
            hint=again,
        )

    async def ready(self) -> None:
        """Makes sure that the file can be written, before a model is asked and paid.

        Raises:
            CassetteError: it can not.
        """
        if self._version == 0:
            await _in_thread(lambda: check_folder(self.path))

    async def keep(self, slot: Slot, entry: Entry, wrapped: Wrapped) -> None:
        """Records a call that has ended; on disk on return. A call whose end nobody is told of, as this fails, is none.

        Raises:
            CassetteError: it could not be written; what was recorded before stands.
        """
        slot.entry = entry
        self._wrapped = self._wrapped or wrapped
        try:
            await self._save()
        except BaseException:
            slot.entry = None
            raise

    async def complete(self) -> None:
        """The run has finished: the file holds all of it.

        Raises:
            CassetteError: it could not be written.
        """
        if self._open and self.records:
            self._open = False
            if self.file is not None or self.recorded:
                await self._save()

    async def _save(self) -> None:
        self._version += 1
        await _in_thread(self._write)

    def _write(self) -> None:
        with self._lock:
            if self._written == self._version:
                return  # the one before has written this, too
            version = self._version
            if not (self._replaces and self._written == 0) and identity_of(self.path) not in (self._seen, None):
                raise CassetteError(
                    f"the cassette {self.path} was written by somebody else meanwhile",
                    path=str(self.path),
                    code=UNWRITABLE,
                    hint="Let one run at a time record into a file.",
                )
            self._seen = write_cassette(self.path, self._whole())
            self._written = version

    def _whole(self) -> CassetteFile:
        before = self.file.entries if self.file else ()
        new = tuple(slot.entry for slot in list(self._recorded) if slot.entry is not None)
        return CassetteFile(VERSION, (*before, *new), __version__, self._began, self._wrapped, self._open)


def _task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None, "a model is asked from a task"
    return task


def _one_of(field: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ConfigurationError(f"{field} is {value!r}", field=field, hint=f"Use one of: {', '.join(words)}.")


async def _in_thread(work: Callable[[], None]) -> None:
    """Runs ``work`` on a thread. A caller that is cancelled still waits for its end, so that a later write comes later."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
