"""Entries of a stored session as records of a log, one after the other, so that a long one is never held whole.

Every call gets exactly one result. What the source lacks is put right and told: a call without a result gets one that says so, a
result that stands elsewhere goes behind its turn, one that nobody asked for is left out of the talk and kept as a note. The calls of
the last answer may stay open, as the source may go on.

Every answer is a step with a mark. A user's messages begin a run; what came while calls were open joins the run. A talk that stops
before its answer is settled as aborted, so that nobody goes on with it who was not told to.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from lousho_cli.core.tool_errors import not_run
from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.resets import reset_marker
from lousho_cli.interchange.reading.values import Entry

NOT_ENDED = "what was imported had not come to its end"
"""The error of a talk that stops before its answer."""

MISSING_TOOL_RESULT = "No result of this call was kept where this talk was imported from. It may or may not have been run."
"""What a call gets as its result where its source has none."""


class Group(NamedTuple):
    """Records that belong together, and when that was."""

    at: str
    records: tuple[r.Record, ...]


class Transcriber:
    """Takes the entries of one session in their order and gives what they add to its log.

    Args:
        agent: whose talk it is. limit: how many marks the ring keeps.
        asked, answered: how often each call and each result will come. unit: what ``Entry.place`` counts.
    """

    def __init__(self, agent: str, limit: int, asked: Mapping[str, int], answered: Mapping[str, int], unit: str = "line") -> None:
        self.repairs: list[str] = []
        self.marks = 0
        self._tokens = 0
        self._agent, self._limit, self._unit = agent, limit, unit
        self._asked, self._answered = Counter(asked), Counter(answered)
        self._groups: list[Group] = []
        self._at = ""
        self._instructions: str | None = None
        self._inputs = 0
        self._step = 0
        self._active: list[str] = []
        self._stopped = False
        self._open: dict[str, ToolCall] = {}
        self._open_at = 0
        self._early: dict[str, Entry] = {}
        self._behind: deque[Entry] = deque()
        self._said: list[Entry] = []
        self._joins = False
        self._answer: Entry | None = None
        self._gave: set[str] = set()

    def take(self, entry: Entry) -> list[Group]:
        """What one more entry adds; what depends on those behind it comes later."""
        self._take(entry)
        return self._taken()

    def end(self) -> list[Group]:
        """What is left once the source has no more. Further entries may follow another day."""
        while self._behind:
            waiting, self._behind = self._behind, deque()
            self._fill()
            for entry in waiting:
                self._take(entry)
        early, self._early = self._early, {}
        for entry in early.values():
            self._leave_out(entry)
        self._flush_answer(last=True)
        self._flush_said()
        if self._active and not self._stopped:
            self._settle("aborted", NOT_ENDED)
            self._stopped = True
        return self._taken()

    def _taken(self) -> list[Group]:
        groups, self._groups = self._groups, []
        return groups

    def _put(self, *records: r.Record) -> None:
        self._groups.append(Group(self._at, records))

    def _mark(self, status: Status = "in-progress", finish: str | None = None) -> r.Mark:
        self.marks += 1
        return r.Mark(self._step, status, finish, limit=self._limit)

    def _turn(self, entry: Entry) -> r.Turn:
        """An answer; what it used is guessed where nobody said, as a run does it."""
        finish = entry.finish or ("tool_calls" if entry.message.tool_calls else "stop")
        tokens = _tokens_of(entry.message)
        estimate = None if entry.usage is not None else (self._tokens, tokens)
        self._tokens += tokens
        return r.Turn(entry.message, finish, entry.model, entry.usage, estimate)

    def _tell(self, place: int, what: str, kept: str = "") -> None:
        said = f"{self._unit} {place}: {what}"
        self.repairs.append(said)
        self._put(r.Note("import", f"{said}: {kept}" if kept else said))

    # One entry

    def _take(self, entry: Entry) -> None:
        if entry.at:
            self._at = entry.at
        role = entry.message.role
        if role == "tool":
            self._result(entry)
        elif self._behind or (role == "assistant" and self._waits(entry)):
            self._behind.append(entry)
        else:
            self._go_on(entry)

    def _go_on(self, entry: Entry) -> None:
        role = entry.message.role
        if entry.reset:
            self._flush_answer(last=True)
            self._flush_said()
            self._reset(entry)
        elif role == "assistant":
            self._answered_by(entry)
        elif role == "system" and not self._inputs and not self._said and self._instructions is None:
            self._instructions = entry.message.text
        else:
            self._flush_answer(last=True)
            self._joins = self._joins or (not self._said and bool(self._open))
            self._said.append(entry)

    def _waits(self, entry: Entry) -> bool:
        """Whether a call that is open will still get its result, so that the next answer has to wait for that."""
        if not self._open:
            return False
        again = {call.id for call in entry.message.tool_calls}
        return any(self._answered[call_id] > 0 and call_id not in again for call_id in self._open)

    def _result(self, entry: Entry) -> None:
        call_id = entry.message.tool_call_id or ""
        self._answered[call_id] -= 1
        if call_id in self._open:
            self._finish(call_id, entry)
            self._catch_up()
        elif self._asked[call_id] > 0 and call_id not in self._early:
            self._early[call_id] = entry
        else:
            self._leave_out(entry)

    def _leave_out(self, entry: Entry) -> None:
        call_id = entry.message.tool_call_id or "(no id)"
        what = f"a second result of call {call_id}" if call_id in self._gave else f"a result of call {call_id}, which nobody asked for,"
        self._tell(entry.place, f"{what} was left out", entry.message.text)

    def _catch_up(self) -> None:
        if not self._behind or self._open:
            return
        self._tell(self._open_at, "the results of this turn came behind what was said next and were moved to it")
        while self._behind and not (self._behind[0].message.role == "assistant" and self._waits(self._behind[0])):
            entry = self._behind.popleft()
            self._at = entry.at or self._at
            self._go_on(entry)

    def _finish(self, call_id: str, entry: Entry) -> None:
        message = entry.message
        del self._open[call_id]
        self._gave.add(call_id)
        self._tokens += _tokens_of(message)
        done: tuple[r.Record, ...] = (r.ToolFinished(call_id, message.text, is_error=message.is_error),)
        if not self._open:
            done = (*done, self._mark())
        self._put(*done)

    # An answer

    def _answered_by(self, entry: Entry) -> None:
        self._fill()
        self._flush_answer(last=False)
        self._flush_said()
        if not self._inputs:
            self._begin(())
        elif self._stopped or not self._active:
            self._put(r.RunResumed(1))
            self._stopped = False
        self._step += 1
        calls = self._calls(entry)
        for call in entry.message.tool_calls:
            self._asked[call.id] -= 1
        if calls != entry.message.tool_calls:
            entry = msgspec.structs.replace(entry, message=msgspec.structs.replace(entry.message, tool_calls=calls, native=None))
        if not calls:
            self._answer = entry
            return
        self._open, self._open_at = {call.id: call for call in calls}, entry.place
        self._gave.difference_update(self._open)
        self._put(self._turn(entry), self._mark(), *(r.ToolStarted(call.id) for call in calls))
        for call in calls:
            early = self._early.pop(call.id, None)
            if early is not None:
                self._tell(early.place, f"the result of call {call.id} stood before its call and was moved to its turn")
                self._finish(call.id, early)

    def _calls(self, entry: Entry) -> tuple[ToolCall, ...]:
        """The calls of an answer, each with an id of its own."""
        calls: dict[str, ToolCall] = {}
        for number, call in enumerate(entry.message.tool_calls):
            if not call.id:
                call = msgspec.structs.replace(call, id=f"call-{entry.place}-{number}")
            if call.id in calls:
                self._tell(entry.place, f"a call that repeats the id {call.id} of another call of its turn was left out", call.arguments)
            else:
                calls[call.id] = call
        return tuple(calls.values())

    def _fill(self) -> None:
        """The talk went on: the calls that are still open have no result and get one that says so."""
        for call_id, call in tuple(self._open.items()):
            self._tell(self._open_at, f"call {call_id} of {call.name} had no result and got one that says so")
            message = Message("tool", not_run(call, MISSING_TOOL_RESULT), tool_call_id=call_id, is_error=True)
            self._finish(call_id, Entry(message))

    def _flush_answer(self, *, last: bool) -> None:
        """The newest answer asked for nothing: it is the last of its run where a user, or nobody, speaks next."""
        entry, self._answer = self._answer, None
        if entry is None:
            return
        at, self._at = self._at, entry.at or self._at
        if last:
            finish = entry.finish or "stop"
            mark = self._mark("finished", finish)
            self._put(self._turn(entry), mark, *(r.InputSettled(one, "completed") for one in self._active))
            self._active = []
        else:
            self._put(self._turn(entry), self._mark())
        self._at = at

    # What users say

    def _flush_said(self) -> None:
        said, self._said = self._said, []
        joins, self._joins = self._joins, False
        if not said:
            return
        at, self._at = self._at, said[-1].at or self._at
        messages = tuple(entry.message for entry in said)
        if joins and self._active:
            self._tokens += sum(map(_tokens_of, messages))
            name = self._next_input()
            self._active.append(name)
            self._put(r.InputReceived(name, messages, joins=True), r.InputApplied(name))
        else:
            self._begin(messages)
        self._at = at

    def _begin(self, messages: tuple[Message, ...]) -> None:
        if self._active and not self._stopped:
            self._settle("aborted", NOT_ENDED)
        name = self._next_input()
        self._active, self._step, self._stopped = [name], 0, False
        started = r.RunStarted(name, replay="never", instructions=self._instructions, agent_id=self._agent)
        self._tokens += sum(map(_tokens_of, messages)) + len(self._instructions or "") // 4
        self._instructions = None
        self._put(r.InputReceived(name, messages), started, r.InputApplied(name))

    def _settle(self, outcome: r.Outcome, error: str | None) -> None:
        self._put(*(r.InputSettled(one, outcome, error) for one in self._active))

    def _next_input(self) -> str:
        self._inputs += 1
        return f"imported-{self._inputs}"

    def _reset(self, entry: Entry) -> None:
        marker = reset_marker(entry.message.text)
        marker = msgspec.structs.replace(marker, metadata={**(entry.message.metadata or {}), "reset": True})
        self._tokens = _tokens_of(marker)
        name = self._next_input()
        self._put(r.InputReceived(name, (marker,)), r.InputApplied(name))


def _tokens_of(message: Message) -> int:
    """A rough count of a message's tokens: four characters each."""
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return -(-(len(message.text) + calls) // 4)
