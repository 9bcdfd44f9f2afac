"""What must hold of sessions, whatever happened to them (DESIGN 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec
from properties_wires import anthropic_takes, openai_takes, paired, results

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.sub_sessions import sub_sessions
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line, encode_value
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.ports.sessions import read_session
from lousho_cli.ports.tool import ToolContext


class Known:
    """What was promised about one session, and what was seen of it."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.saved = 0
        self.messages: tuple[Message, ...] = ()
        self.results: dict[str, str] = {}
        self.decided: dict[str, bool] = {}
        self.inputs: dict[str, str] = {}
        self.texts: set[str] = set()
        self.turns = 0


class Promises:
    """Sessions on a disk, and what was promised of each."""

    disk: Any
    process: Any

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}
        self.starts: Counter[tuple[str, str]] = Counter()
        self.broken: Exception | None = None

    async def session(self, name: str) -> Session:
        return fold((await self.disk.reader.read(name)).batches)

    async def lines(self, name: str) -> list[bytes]:
        """A log as bytes."""
        return [encode_line(batch) for batch in (await self.disk.reader.read(name)).batches]

    async def _waiting(self) -> list[tuple[str, Any]]:
        found = []
        for name in self.known:
            session = await self.session(name)
            if session.wait is not None:
                found.append((name, session.wait))
        return found

    async def hold(self, touched: str | None = None) -> None:
        """Asks for every invariant. Only the session ``touched`` may have got new lines since the last time."""
        if self.broken is not None:
            raise self.broken
        for name, known in self.known.items():
            lines = await self.lines(name)
            if lines != known.lines:
                assert name == touched, f"{name} changed while something else happened"
                assert lines[: len(known.lines)] == known.lines, f"what stood in {name} changed"
                known.lines = lines
                await self._hold_of(name, known)
            await self._promised(name, known)

    async def _hold_of(self, name: str, known: Known) -> None:
        batches = (await self.disk.reader.read(name)).batches
        session = fold(batches)
        assert paired(session), "calls and results do not pair up"
        for one in sub_sessions(batches):
            assert paired(one.session), f"calls and results of {'/'.join(one.path)} do not pair up"
        for call_id, content in results(session).items():
            assert known.results.setdefault(call_id, content) == content, "a recorded result changed"
        assert known.results.keys() <= results(session).keys(), "a recorded result is gone"
        assert session.turns >= known.turns, "a recorded turn is gone"
        known.turns = session.turns
        answered = Counter(record.id for batch in batches for record in batch.records if isinstance(record, r.WaitAnswered))
        assert all(count == 1 for count in answered.values()), "an approval was decided twice"
        await self._one_fold(name, batches, session)

    async def _promised(self, name: str, known: Known) -> None:
        """What was acknowledged is there."""
        session = await self.session(name)
        assert session.seq >= known.saved, "what was said to be saved is gone"
        assert tuple(session.messages[: len(known.messages)]) == known.messages, "what a caller was given is gone"
        for approval_id, approved in known.decided.items():
            assert session.decided[approval_id] == approved, "a decision is gone"
        posted = {post.id for post in await self.disk.reader.inbox(name)}
        assert known.inputs.keys() <= posted | session.inputs.keys(), "an input that was taken is gone"

    async def _one_fold(self, name: str, batches: Sequence[r.Batch], session: Session) -> None:
        """The fold is the same however it is made, and its head is that of the list."""
        reader = self.disk.reader
        assert same(fold(batches), session)
        assert same(await read_session(reader, name), session), "the snapshot says something else"
        for cut in {len(batches) // 2, len(batches) - 1} - {-1, 0}:
            middle = session_from(state_from(fold(batches[:cut])))
            assert same(fold(batches[cut:], middle), session), "a fold from the middle says something else"
        head = await reader.head(name)
        if batches:
            assert head is not None
            expected = msgspec.structs.replace(head_of(session), id=name, wake_at=head.wake_at)
            assert head == expected, "the head says something else"

    async def look(self, looking: Awaitable[None]) -> None:
        """Asks for something in the middle of a run, which makes a result of whatever is raised there: it is told when the run is over."""
        try:
            await looking
        except Exception as error:
            self.broken = self.broken or error

    async def asked(self, request: Any) -> None:
        """The model is asked: with exactly what is recorded, which no provider could refuse."""
        messages = tuple(request.messages)
        assert openai_takes(messages)
        assert anthropic_takes(messages)
        sessions = with_sub_agents([await self._as_the_process_sees_it(name) for name in self.known])
        assert any(tuple(session.messages) == messages and session.turn is None for session in sessions), "asked with what is not recorded"
        said = [message for message in messages if message.role != "tool"]
        on_disk = with_sub_agents([await self.session(name) for name in self.known])
        assert any(spoken(session)[: len(said)] == said for session in on_disk), "asked with what a power cut could take"

    async def started(self, context: ToolContext) -> None:
        """A tool starts: its call has no result, nobody rejected it, and it is not one that must not run twice."""
        name = context.session_id or ""
        *leads, call_id = context.tool_call_id.split("/")
        session = sub_agent(await self._as_the_process_sees_it(name), leads)
        call = next((call for call in session.pending if call.id == call_id), None)
        assert call is not None, "a call ran that had its result, or was never asked for"
        decision = session.decisions.get(call.id)
        assert decision is None or decision.approved, "a call ran that was rejected"
        assert call.name != "gated" or decision is not None, "a call ran that nobody approved"
        key = name, context.tool_call_id
        self.starts[key] += 1
        assert call.name != "never" or self.starts[key] == 1, "a call ran twice that must not"
        assert context.rerun or self.starts[key] == 1 or self.disk.power_cuts, "a call ran again without being told"
        on_disk = sub_agent(await self.session(name), leads).turn
        assert on_disk is not None, "a call ran whose turn a power cut could take"
        assert call in on_disk.calls, "a call ran whose turn a power cut could take"
        assert call.name != "never" or call.id in on_disk.started, "a power cut could make a call run twice that must not"

    async def _as_the_process_sees_it(self, name: str) -> Session:
        return fold((await self.process.read(name)).batches)


def with_sub_agents(sessions: Sequence[Session]) -> list[Session]:
    return [one for session in sessions for one in (session, *with_sub_agents(list(session.children.values())))]


def sub_agent(session: Session, calls: Sequence[str]) -> Session:
    """The sub-agent that calls lead to; an empty session where it is not there."""
    for call_id in calls:
        session = session.children.get(call_id, Session())
    return session


def spoken(session: Session) -> list[Message]:
    return [message for message in (*session.messages, *session.held) if message.role != "tool"]


def same(one: Session, other: Session) -> bool:
    return encode_value(state_from(one)) == encode_value(state_from(other))
