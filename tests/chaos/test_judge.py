"""The judge finds what is wrong: each rule, held against a session that breaks it and nothing else."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import judge
import pytest
from diary import EVERYBODY, Diary
from msgspec.structs import replace
from witness import SENT, Doing, Seen

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT
from lousho_cli.ports.log_store import LogRead

PID, PLACES = 11, {11: "worker-0", 12: "worker-1"}


class Told:
    """A sound session of an agent, taken over behind its third call; a test breaks it where it likes."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        begins = (r.Created(agent), r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1"))
        self.batches = [r.Batch(1, 1, _at(0), begins)]
        self.done: list[Doing] = []
        for number, call in enumerate(judge.CALLS, 1):
            self._step(number, call, epoch=1 if number < 4 else 2)
        done = r.Turn(Message("assistant", "Done."), "stop")
        self._add(2, 60, (done, r.Mark(6, "finished", "stop"), r.InputSettled("in-1", "completed")))
        self._add(2, 61, (r.InputReceived(SENT, (user("And more."),)), r.InputApplied(SENT), r.RunStarted(SENT)))
        self._add(2, 62, (done, r.Mark(1, "finished", "stop"), r.InputSettled(SENT, "completed")))

    def _step(self, number: int, call: str, epoch: int) -> None:
        asks = Message("assistant", "", tool_calls=(ToolCall(call, "work", "{}"),))
        self._add(epoch, 10 * number, (r.Turn(asks, "tool_calls"), r.Mark(number)))
        if self.agent == judge.GATED and call in judge.SPECIAL:
            wait = PendingApproval(f"ask-{call}", call, "work", {}, "d", _at(0))
            self._add(epoch, 10 * number + 1, (r.WaitOpened(wait), r.Mark(number, "awaiting-approval", approval_id=wait.id)))
            self._add(epoch, 10 * number + 2, (r.WaitAnswered(wait.id, True), r.Mark(number)))
        self._add(epoch, 10 * number + 3, (r.ToolStarted(call),))
        self.done.append(Doing("s", call, epoch, PID, f"n-{call}", _BEGAN + 10 * number + 4, ended=True))
        self._add(epoch, 10 * number + 5, (r.ToolFinished(call, json.dumps({"nonce": f"n-{call}"})), r.Mark(number)))

    def _add(self, epoch: int, second: int, records: Sequence[Any]) -> None:
        self.batches.append(r.Batch(len(self.batches) + 1, epoch, _at(second), tuple(records)))

    def change(self, old: type, call: str, **values: Any) -> None:
        """Changes the records of a kind that are about a call."""
        for index, batch in enumerate(self.batches):
            records = [replace(one, **values) if type(one) is old and call in (one.id, f"ask-{one.id}") else one for one in batch.records]
            self.batches[index] = replace(batch, records=tuple(records))

    def again(self, call: str, epoch: int, second: float) -> None:
        """Has a call begun once more."""
        at = next(index for index, one in enumerate(self.done) if one.call == call)
        self.done.insert(at + 1, Doing("s", call, epoch, 12, "again", _BEGAN + second, ended=False))

    def faults(self, diary: Diary) -> list[str]:
        seen: Seen = defaultdict(list)
        for one in self.done:
            seen[one.session, one.call].append(one)
        log = LogRead(tuple(self.batches), len(self.batches), 2)
        return judge.faults(judge.Case("s", self.agent, log, seen), diary, PLACES)


_BEGAN = 1_767_225_600.0  # the time below


def _at(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02}:{second % 60:02}.000Z"


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


@pytest.mark.parametrize("agent", ["steps", "gated", "never"])
def test_a_sound_session_has_no_fault(agent: str, diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "rejects", lambda session, call: False)
    assert Told(agent).faults(diary) == []


def test_a_takeover_needs_a_cause(diary: Diary) -> None:
    told = Told("steps")
    told.done[3] = told.done[3]._replace(epoch=1, at=_BEGAN + 39)
    told.again("c4", 2, 44)
    told.change(r.ToolFinished, "c4", content='{"nonce": "again"}')
    told.done[4] = told.done[4]._replace(ended=True)
    assert [fault.partition(", and ")[2] for fault in told.faults(diary)] == ["nothing was done to worker-0"]
    diary.note("cut everybody's", EVERYBODY, 0, _BEGAN + 41, _BEGAN + 42)
    assert told.faults(diary) == []


def _broken(told: Told, how: str) -> None:
    """Breaks one rule."""
    if how == "a gap":
        told.batches[4:] = [replace(batch, seq=batch.seq + 1) for batch in told.batches[4:]]
    elif how == "an epoch that falls":
        told.batches[2] = replace(told.batches[2], epoch=3)
    elif how == "not settled":
        told.batches.pop()
    elif how == "twice under one epoch":
        told.again("c2", 1, 24)
    elif how == "again behind its result":
        told.again("c2", 2, 50)
    elif how == "begun by who had lost it":
        told.again("c3", 1, 50)
    elif how == "the result of another":
        told.change(r.ToolFinished, "c3", content='{"nonce": "nobody"}')
    elif how == "a result that was not seen to come":
        told.done[2] = told.done[2]._replace(ended=False)
    elif how == "failed":
        told.change(r.ToolFinished, "c3", is_error=True)


HOW = {
    "a gap": "its log is not dense",
    "an epoch that falls": "its epochs fall",
    "not settled": "it did not complete",
    "twice under one epoch": "c2 was begun under epoch 1 and again under 1",
    "again behind its result": "c2 was begun under epoch 2, and its result stands there since 1",
    "begun by who had lost it": "c3 was begun under epoch 1 at 1767225650.000, 10.000 s behind 2",
    "the result of another": "c3 has the result nobody",
    "a result that was not seen to come": "c3 has the result n-c3",
    "failed": "c3 failed",
}


@pytest.mark.parametrize("how", HOW)
def test_it_finds(how: str, diary: Diary) -> None:
    told = Told("steps")
    _broken(told, how)
    assert any(HOW[how] in fault for fault in told.faults(diary))


def test_it_finds_what_must_not_run_twice_and_did(diary: Diary) -> None:
    told = Told("never")
    told.again("c2", 2, 24)
    assert any("c2 must not run twice, and was begun 2 times" in fault for fault in told.faults(diary))


def test_it_finds_a_call_that_is_said_to_be_interrupted_and_was_not(diary: Diary) -> None:
    told = Told("never")
    told.change(r.ToolFinished, "c2", is_error=True, content=json.dumps({"message": INTERRUPTED_TOOL_RESULT}))
    assert any("c2 is said to be interrupted" in fault for fault in told.faults(diary))


def test_it_finds_decisions_that_did_not_hold(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "rejects", lambda session, call: call == "c2")
    found = Told("gated").faults(diary)
    assert any("c2 was decided otherwise" in fault for fault in found)
    monkeypatch.setattr(judge, "rejects", lambda session, call: False)
    early = Told("gated")
    early.done[1] = early.done[1]._replace(at=_BEGAN + 20)
    assert any("c2 was begun before it was approved" in fault for fault in early.faults(diary))
    case = judge.Case("s", "gated", LogRead(tuple(early.batches)), {})
    assert judge.acknowledged([case], ["ask-c2", "ask-c9"]) == ["the decision ask-c9 was acknowledged, and stands nowhere"]
