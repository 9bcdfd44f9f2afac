"""What must hold once all is calm, by the logs, by the witness and by the monkey's diary. Each rule gives the faults that it finds.

came to its end: every session completed, its input and the one that was sent, with a result for each of its five calls, one each.
not behind: a call is begun under no epoch above that of its result, as whoever has such an epoch has read the result. Nor does who
lost the session begin one: nothing of a lower epoch is begun once the log has a higher one.
not twice: under one epoch a call is begun once, and again only under a higher one, as there was a takeover; the diary has its cause.
its own result: what stands in the log is what the call gave that was begun under the epoch which wrote it down.
never: what must not run twice was begun once at most, and whoever took it over says that nobody knows what came of it.
decided: what a person must approve began behind that, once; what was rejected never; what was acknowledged stands.
dense: seq 1 to n without a gap, epochs that do not fall.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from diary import Diary
from witness import SENT, Doing, Seen, rejects, twice

from lousho_cli.core.fold import fold
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT
from lousho_cli.ports.log_store import LogRead

CALLS = ("c1", "c2", "c3", "c4", "c5")
GATED, NEVER = "gated", "never"
SPECIAL = ("c2", "c4")
"""Which calls of the agents ``gated`` and ``never`` a person must approve, and must not run twice."""


class Said(NamedTuple):
    """What a log says of one call: its result, and the batch that holds it."""

    result: r.ToolFinished
    batch: r.Batch


class Case(NamedTuple):
    """One session: its agent's name, its log, and what was seen of it."""

    name: str
    agent: str
    log: LogRead
    seen: Seen

    def all(self, kind: type) -> Iterator[tuple[r.Batch, r.Record]]:
        """The records of a kind, each with its batch."""
        return ((batch, record) for batch in self.log.batches for record in batch.records if isinstance(record, kind))

    def said(self) -> dict[str, Said]:
        return {record.id: Said(record, batch) for batch, record in self.all(r.ToolFinished)}  # type: ignore[union-attr]

    def done(self, call: str) -> list[Doing]:
        return self.seen.get((self.name, call), [])


def faults(case: Case, diary: Diary, places: dict[int, str]) -> list[str]:
    """All that is wrong with a session. ``places``: where each process stood."""
    rules = (_dense(case), _came_to_its_end(case), _not_behind(case), _not_twice(case, diary, places), _own_results(case), _decided(case))
    return [f"{case.name}: {fault}" for rule in rules for fault in rule]


def _dense(case: Case) -> Iterator[str]:
    seqs, epochs = [batch.seq for batch in case.log.batches], [batch.epoch for batch in case.log.batches]
    if case.log.holes or seqs != list(range(1, len(seqs) + 1)) or case.log.head != len(seqs):
        yield f"its log is not dense: {seqs}, holes {case.log.holes}"
    if epochs != sorted(epochs):
        yield f"its epochs fall: {epochs}"


def _came_to_its_end(case: Case) -> Iterator[str]:
    session = fold(case.log.batches)
    if session.outcome != "completed" or not session.ended:
        yield f"it did not complete: {session.status}, {session.outcome}, {session.error}"
    if (problem := check(session.messages)) is not None:
        yield f"its transcript is none: {problem}"
    results = Counter(record.id for _, record in case.all(r.ToolFinished))  # type: ignore[union-attr]
    if results != Counter(CALLS):
        yield f"its results are {dict(results)}"
    for kind in (r.InputReceived, r.InputSettled):
        inputs = Counter(record.id for _, record in case.all(kind))  # type: ignore[union-attr]
        if inputs != Counter(("in-1", SENT)):
            yield f"of its inputs, {kind.__name__} are {dict(inputs)}"


def _not_behind(case: Case) -> Iterator[str]:
    said = case.said()
    for (session, call), done in case.seen.items():
        for one in done if session == case.name else ():
            if call in said and one.epoch > said[call].batch.epoch:
                yield f"{call} was begun under epoch {one.epoch}, and its result stands there since {said[call].batch.epoch}"
            later = next((batch for batch in case.log.batches if batch.epoch > one.epoch), None)
            if later is not None and one.at > _seconds(later.at):
                yield f"{call} was begun under epoch {one.epoch} at {one.at:.3f}, {one.at - _seconds(later.at):.3f} s behind {later.epoch}"


def _not_twice(case: Case, diary: Diary, places: dict[int, str]) -> Iterator[str]:
    for call in CALLS:
        for first, second in twice(case.done(call)):
            if second.epoch <= first.epoch:
                yield f"{call} was begun under epoch {first.epoch} and again under {second.epoch}"
            elif not diary.tells(places[first.pid], first.at, second.at):
                yield f"{call} was begun at {first.at:.3f} and {second.at:.3f}, and nothing was done to {places[first.pid]}"


def _own_results(case: Case) -> Iterator[str]:
    for call, (result, batch) in case.said().items():
        done = case.done(call)
        if case.agent == NEVER and call in SPECIAL:
            if len(done) > 1:
                yield f"{call} must not run twice, and was begun {len(done)} times"
            if result.is_error and json.loads(result.content)["message"] == INTERRUPTED_TOOL_RESULT:
                begun = [b.epoch for b, record in case.all(r.ToolStarted) if record.id == call]  # type: ignore[union-attr]
                if not begun or begun[0] >= batch.epoch or any(one.epoch >= batch.epoch for one in done):
                    yield f"{call} is said to be interrupted, and was begun under {begun}, as was seen {done}"
                continue
        if result.is_error:
            if not (case.agent == GATED and rejects(case.name, call)):
                yield f"{call} failed: {result.content}"
            continue
        nonce = json.loads(result.content)["nonce"]
        if not any(one.nonce == nonce and one.ended and one.epoch == batch.epoch for one in done):
            yield f"{call} has the result {nonce} under epoch {batch.epoch}, and seen was {done}"


def _decided(case: Case) -> Iterator[str]:
    if case.agent != GATED:
        return
    asked = {record.approval.id: record.approval.tool_call_id for _, record in case.all(r.WaitOpened)}  # type: ignore[union-attr]
    answers = [(batch, record) for batch, record in case.all(r.WaitAnswered)]
    if sorted(asked.values()) != sorted(SPECIAL) or Counter(record.id for _, record in answers) != Counter(list(asked)):  # type: ignore[union-attr]
        yield f"it asked {asked}, and the answers were {[record for _, record in answers]}"
    for batch, record in answers:
        assert isinstance(record, r.WaitAnswered)
        call = asked.get(record.id, "")
        if record.approved is rejects(case.name, call):
            yield f"{call} was decided otherwise than the person did"
        for one in case.done(call):
            if not record.approved:
                yield f"{call} was begun, and had been rejected"
            elif one.at < _seconds(batch.at) - 0.001 or one.epoch < batch.epoch:
                yield f"{call} was begun before it was approved"


def acknowledged(cases: Sequence[Case], told: Sequence[str]) -> list[str]:
    """The decisions that were told to have been taken, and stand in no log."""
    stand = {record.id for case in cases for _, record in case.all(r.WaitAnswered)}  # type: ignore[union-attr]
    return [f"the decision {one} was acknowledged, and stands nowhere" for one in told if one not in stand]


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
