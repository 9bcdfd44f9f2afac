"""What happened between two checkpoints that a person looking back should know: crashes, resumes, decisions, drift, damage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.stops import Aborted, Spent, Stop, Tripped
from lousho_cli.ports.log_store import Hole

MarkKind = Literal[
    "run",
    "crash",
    "takeover",
    "resume",
    "stopped",
    "waits",
    "approved",
    "rejected",
    "expired",
    "drift",
    "held",
    "retry",
    "repair",
    "note",
    "abort",
    "failed",
    "limit",
    "fork",
    "damage",
    "newer",
]
"""``stopped``: on purpose, to be gone on with elsewhere. ``held``: found, and not run. ``newer``: written by a newer version."""


class RingMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened, in words. ``seq``: the batch of the log that says so. ``at``: when it was written, '' where nobody knows."""

    kind: MarkKind
    text: str
    seq: int
    at: str = ""


class Marking:
    """Reads the batches of one log in order and says what happened. It keeps what it must know of the records before."""

    def __init__(self) -> None:
        self._host = ""
        self._epoch = 0
        self._open = False  # a run was begun and neither ended nor paused nor was it given back
        self._runs = 0
        self._waits: dict[str, str] = {}
        self._running: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def of(self, batches: Iterable[r.Batch]) -> Iterator[RingMark]:
        """What these batches tell, oldest first."""
        for batch in batches:
            for record in batch.records:
                tell = _TOLD.get(type(record))
                for kind, text in tell(self, record, batch) if tell is not None else ():
                    yield RingMark(kind, text, batch.seq, batch.at)

    def _claimed(self, record: r.Claimed, batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        if self._open and batch.epoch > self._epoch:
            busy = f"while {_listed(self._running.values())} ran" if self._running else "while the model was asked"
            yield "crash", f"cut {busy}: {self._host or 'its owner'} was gone"
        if self._host and record.host != self._host:
            yield "takeover", f"taken over by {record.host}"
        self._host, self._epoch = record.host, max(self._epoch, batch.epoch)

    def _started(self, record: r.RunStarted, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._runs += 1
        self._open, self._running = True, {}
        if self._runs > 1:
            yield "run", f"run {self._runs} began"

    def _resumed(self, record: r.RunResumed, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._open, self._running = True, {}
        yield "resume", f"resumed, attempt {record.attempt}"

    def _handed_over(self, _record: r.RunHandedOver, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._open = False
        yield "stopped", "stopped on purpose, to be gone on with"

    def _settled(self, record: r.InputSettled, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._open, self._running = False, {}
        if record.outcome == "failed":
            yield "failed", f"failed: {record.error or record.code or 'nobody said why'}"
        elif record.outcome == "aborted":
            yield "abort", "aborted"

    def _turn(self, record: r.Turn, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._running = {}
        self._names = {call.id: call.name for call in record.message.tool_calls}
        return iter(())

    def _tool_started(self, record: r.ToolStarted, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._running = {**self._running, record.id: self._names.get(record.id, record.id)}
        return iter(())

    def _tool_finished(self, record: r.ToolFinished, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        self._running.pop(record.id, None)
        return iter(())

    def _opened(self, record: r.WaitOpened | r.AskOpened, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        asked = record.approval
        self._open = self._open and isinstance(record, r.AskOpened)
        said = asked.tool_name if asked.kind == "tool" else f"{asked.kind} of {asked.tool_name}"
        self._waits[asked.id] = said
        yield "waits", f"waits for a person: {said} ({asked.id})"

    def _answered(self, record: r.WaitAnswered | r.AskAnswered, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        what = self._waits.pop(record.id, record.id)
        by = f" by {record.by}" if record.by else ""
        note = f": {record.note}" if record.note else ""
        edited = " with other arguments" if isinstance(record, r.WaitAnswered) and record.args is not None else ""
        if record.expired:
            yield "expired", f"{what}: nobody decided in time"
        elif record.approved:
            word = "approved" if isinstance(record, r.WaitAnswered) else "answered"
            yield "approved", f"{what} {word}{by}{edited}{note}"
        else:
            yield "rejected", f"{what} rejected{by}{note}"

    def _marked(self, record: r.Mark, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
        if record.status != "in-progress":
            self._open = False
        if record.stop is not None:
            yield "limit", _stopped(record.stop)


def _note(_known: Marking, record: r.Note, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
    if record.drift is not None or record.kind == "drift":
        yield "drift", f"drift: {record.text}"
    else:
        yield "repair" if record.kind in {"repair", "repaired"} else "note", record.text


def _forked(_known: Marking, record: r.Forked, _batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
    patch = f", with other {_listed(record.patch)}" if record.patch else ""
    yield "fork", f"forked from {record.parent} at step {record.step}{patch}"


def _foreign(_known: Marking, record: r.Foreign, batch: r.Batch) -> Iterator[tuple[MarkKind, str]]:
    if record.damaged:
        yield "damage", f"record {batch.seq} can not be read: its {record.type} is in a shape that no version writes"
    elif record.reserved:
        yield "newer", f"{record.type}: written by a newer version"


def damage_of(holes: Iterable[Hole]) -> tuple[RingMark, ...]:
    """What is missing from a log; each stands where its last batch would."""
    return tuple(RingMark("damage", f"batches {hole.first} to {hole.last} are missing: {hole.detail}", hole.last) for hole in holes)


def _stopped(stop: Stop) -> str:
    match stop:
        case Tripped():
            return f"stopped by the {stop.kind} guardrail {stop.name}" + (f": {stop.reason}" if stop.reason else "")
        case Spent():
            return f"stopped by the limit {stop.limit}, {stop.max:g} a {stop.scope}"
        case Aborted():
            return "aborted" + (f": {stop.message}" if stop.message else "")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _says(kind: MarkKind, words: Callable[[Any], str]) -> Callable[[Marking, Any, r.Batch], Iterable[tuple[MarkKind, str]]]:
    return lambda _known, record, _batch: ((kind, words(record)),)


_TOLD: dict[type, Callable[[Marking, Any, r.Batch], Iterable[tuple[MarkKind, str]]]] = {
    r.Claimed: Marking._claimed,
    r.RunStarted: Marking._started,
    r.RunResumed: Marking._resumed,
    r.RunHandedOver: Marking._handed_over,
    r.InputSettled: Marking._settled,
    r.Turn: Marking._turn,
    r.ToolStarted: Marking._tool_started,
    r.ToolFinished: Marking._tool_finished,
    r.WaitOpened: Marking._opened,
    r.AskOpened: Marking._opened,
    r.WaitAnswered: Marking._answered,
    r.AskAnswered: Marking._answered,
    r.Mark: Marking._marked,
    r.Note: _note,
    r.Forked: _forked,
    r.Foreign: _foreign,
    r.RunHeld: _says("held", lambda record: f"not gone on with: {record.error}"),
    r.AbortAsked: _says("abort", lambda record: "abort asked" + (f" by {record.by}" if record.by else "")),
    r.ModelRetry: _says("retry", lambda record: f"model call failed, try {record.count}: {record.error}"),
    r.InputRejected: _says("note", lambda record: f"input {record.id} refused: {record.reason}"),
    r.Base: _says("note", lambda _record: "what stood before here was trimmed away"),
    r.Cleared: _says("note", lambda _record: "the session was deleted and its history kept"),
}
