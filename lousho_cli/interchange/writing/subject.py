"""What is exported: the messages of a session in their order, each with its time and what the model call behind it used.

A fold knows no times. So the records are gone through once more, and a message of the fold is found again as the very
object that its record holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.sub_sessions import sub_sessions
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import is_cut_off, is_synthetic
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.domain.state import State
from lousho_cli.domain.usage import StepUsage, step_usage

ORIGIN = "lousho.origin"
"""The setting of a session that was imported: a mapping with the kind, the file and the id that it had there."""


class Origin(msgspec.Struct, frozen=True):
    """Where an imported session came from: what wrote it, its id there, and the name of the file."""

    kind: str
    id: str
    file: str


class Taken(msgspec.Struct, frozen=True, gc=False):
    """One step: the run and the time it was taken in (None: not known any more), and what it used."""

    run: int
    usage: StepUsage
    at: str | None = None


class Said(msgspec.Struct, frozen=True, gc=False):
    """One message. ``step``: the model call that it is the answer of. ``copied``: it was there when the log began."""

    message: Message
    at: str | None = None
    step: Taken | None = None
    copied: bool = False


class Transcript(msgspec.Struct, frozen=True):
    """What one agent said and was told. ``calls`` leads to a sub-agent, ``path`` names it; both are empty for the lead."""

    session: Session
    said: tuple[Said, ...]
    calls: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be exported. ``address``: where only its beginning is. ``steps``: all that were taken, of messages that are gone too."""

    id: str
    lead: Transcript
    subagents: tuple[Transcript, ...]
    steps: tuple[Taken, ...]
    address: str | None = None
    redacted: bool = False

    @property
    def session(self) -> Session:
        return self.lead.session

    @property
    def name(self) -> str:
        """The session, or the checkpoint of it."""
        return self.address or self.id

    @property
    def origin(self) -> Origin | None:
        """Where it was imported from; None for a session that was run here."""
        try:
            return msgspec.convert(self.session.settings.get(ORIGIN), Origin)
        except msgspec.ValidationError:
            return None


class Started:
    """The sub-agents that the calls of one agent have started, to be taken in the order of these calls."""

    def __init__(self, subject: Subject, one: Transcript) -> None:
        self._waiting = [sub for sub in subject.subagents if sub.calls[:-1] == one.calls]

    def take(self, call_id: str | None, tool: str | None) -> Transcript | None:
        """What a call has started; None where it started none. An id alone does not tell: models use them again."""
        found = next((sub for sub in self._waiting if (sub.calls[-1], sub.path[-1]) == (call_id, tool)), None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def rest(self) -> tuple[Transcript, ...]:
        """Those that no call took."""
        return tuple(self._waiting)


def subject_of(session_id: str, batches: Sequence[r.Batch], address: str | None = None, *, redacted: bool = False) -> Subject:
    """What the records of a session tell."""
    moments = _Moments()
    for batch in batches:
        moments.take((), batch.records, batch.at)
    lead = fold(batches)
    inner = sub_sessions(batches)
    return Subject(
        id=session_id,
        lead=moments.transcript(lead),
        subagents=tuple(moments.transcript(one.session, one.calls, one.path) for one in inner),
        steps=tuple(moments.steps),
        address=address,
        redacted=redacted,
    )


class _Moments:
    """When each message of a log came, and which step it was."""

    def __init__(self) -> None:
        self.steps: list[Taken] = []
        self._said: dict[int, Said] = {}
        self._results: dict[tuple[tuple[str, ...], str], list[str]] = {}
        self._at: dict[tuple[str, ...], tuple[int, int]] = {}

    def take(self, calls: tuple[str, ...], records: Sequence[r.Record], at: str) -> None:
        for record in records:
            if isinstance(record, r.Within):
                self.take(record.calls, record.records, at)
            elif isinstance(record, r.Turn):
                self._turn(calls, record, at)
            elif isinstance(record, r.RunStarted):
                self._at[calls] = (self._at.get(calls, (0, 0))[0] + 1, 0)
            elif isinstance(record, r.ToolFinished):
                self._results.setdefault((calls, record.id), []).append(at)
            elif isinstance(record, r.InputReceived | r.Appended):
                self._keep(record.messages, at)
            elif isinstance(record, r.Splice):
                self._keep(record.add, at)
            elif isinstance(record, r.Base | r.Forked):
                self._state(record.state)

    def _keep(self, messages: Sequence[Message], at: str) -> None:
        for message in messages:
            self._said.setdefault(id(message), Said(message, at))

    def _turn(self, calls: tuple[str, ...], record: r.Turn, at: str) -> None:
        run, step = self._at.get(calls, (1, 0))
        self._at[calls] = (run, step + 1)
        taken = Taken(run, step_usage(step + 1, record.model, record.usage, record.estimate or (0, 0)), at)
        self._said[id(record.message)] = Said(record.message, at, taken)
        if not calls:
            self.steps.append(taken)

    def _state(self, state: State) -> None:
        """What was there before: only the steps of its last run are known."""
        run = state.runs[-1] if state.runs else None
        number, start = (run.number, run.start) if run is not None else (1, 0)
        self._at[()] = (number, state.step)
        taken = [Taken(number, usage) for usage in state.step_usage]
        self.steps.extend(taken)
        answers = [message for message in state.messages[start:] if message.role == "assistant" and not is_cut_off(message)]
        known = dict(zip(map(id, reversed(answers)), reversed(taken), strict=False))
        for message in (*state.messages, *state.held):
            self._said[id(message)] = Said(message, None, known.get(id(message)), copied=True)

    def transcript(self, session: Session, calls: tuple[str, ...] = (), path: tuple[str, ...] = ()) -> Transcript:
        """All that was said, results that came before those in front of them and held input too; not our own notes."""
        behind = session.turn.results.values() if session.turn else ()
        times = {key: list(found) for key, found in self._results.items()}
        said: list[Said] = []
        for message in reversed((*session.messages, *behind, *session.held)):  # from the end: an id may be used again
            if is_synthetic(message):
                continue
            known = self._said.get(id(message))
            if known is None:
                found = times.get((calls, message.tool_call_id or "")) if message.role == "tool" else None
                known = Said(message, found.pop() if found else None)
            said.append(known)
        return Transcript(session, tuple(reversed(said)), calls, path)
