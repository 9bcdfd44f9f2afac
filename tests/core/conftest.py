"""A session without any I/O: scripts of what may happen drive ``advance``, and a crash is forgetting all but the log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.admit import admit
from lousho_cli.core.advance import advance
from lousho_cli.core.answering import answer_records
from lousho_cli.core.decide import AgentFacts, CallModel, ConsultTool, Live, RunCall, next_input
from lousho_cli.core.fold import fold
from lousho_cli.core.gate import Consulted, Policy
from lousho_cli.core.states import session_from
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import ApprovalDecision, Question
from lousho_cli.domain.codec import decode_line, encode_line
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import Session
from lousho_cli.domain.usage import CallUsage

# A busy machine makes an example slow, not wrong.
settings.register_profile("core", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("core")

NOW = "2026-01-01T00:00:00.000Z"


class Tool:
    """What the gate asks of a tool. Arguments must be an object whose ``n``, if any, is a number."""

    def __init__(self, name: str, *, replay: Any = None, needs_approval: Any = False) -> None:
        self.name, self.replay, self.needs_approval = name, replay, needs_approval

    def validate(self, args: Any) -> tuple[Any, Any]:
        from lousho_cli.domain.issues import Issue

        if not isinstance(args, dict):
            return None, (Issue("(root)", "not an object"),)
        return (args, ()) if isinstance(args.get("n", 0), int) else (None, (Issue("n", "not a number"),))

    def question(self, args: Any) -> None:
        return None


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("plain"),
        Tool("never", replay="never"),
        Tool("gated", needs_approval=True),
        Tool("asked", needs_approval=lambda args: True),
    )
}
NAMES = [*TOOLS, "unknown"]


def facts(concurrency: int | None = None, max_steps: int = 6, model: str = "m", **policy: Any) -> AgentFacts:
    begin = r.RunStarted(
        input_id="",
        fingerprint=Fingerprint(hash=model, model=model),
        offered=tuple(TOOLS),
        model=model,
        max_steps=max_steps,
        instructions="Be brief.",
    )
    return AgentFacts(TOOLS, begin, policy=Policy(**policy), max_steps=max_steps, tool_concurrency=concurrency)


class World:
    """One session, its log, and the process that drives it now.

    ``step`` takes a number and does one of the things that may happen at this moment. Whatever
    happens, ``hold`` checks what must hold. ``ran`` counts the starts of each call, by turn and call.
    """

    def __init__(self, agent: AgentFacts | None = None, limit: int = 50) -> None:
        self.log: list[r.Batch] = []
        self.agent, self.limit, self.epoch = agent or facts(), limit, 1
        self.f = Accumulator()
        self.forget()
        self.numbers = 0
        self.starts: Counter[str] = Counter()
        self.recorded: dict[str, str] = {}

    def forget(self) -> None:
        """Everything a process holds that is not in the log."""
        self.in_flight: dict[str, ToolCall] = {}
        self.consulted: dict[str, Consulted] = {}
        self.calling = self.aborted = False
        self.claimed = False
        self.effects: Sequence[Any] = ()

    @property
    def session(self) -> Session:
        return self.f.freeze()

    def tell(self, *happened: r.Record) -> None:
        """Something happened: write what follows, take what has to be performed."""
        news = list(happened)
        if news and not self.claimed:
            news.insert(0, r.Claimed(f"host-{self.epoch}"))
            self.claimed = True
        live = Live(
            NOW,
            salt=str(self.epoch),
            in_flight=frozenset(self.in_flight),
            consulted=self.consulted,
            calling_model=self.calling,
            aborted=self.aborted,
        )
        plan = advance(self.f, news, self.agent, live, self.epoch, self.limit)
        self.log += plan.batches
        for effect in plan.effects:
            if isinstance(effect, RunCall):
                self.in_flight[effect.call.id] = effect.call
                self.starts[effect.call.id] += 1
        self.effects = plan.effects
        self.hold()
        following = () if self.aborted else next_input(self.session, self.agent, NOW)
        if following:
            self.tell(*following)

    def hold(self) -> None:
        session = self.session
        for message in session.messages:
            if message.role == "tool":
                known = self.recorded.setdefault(message.tool_call_id or "", message.text)
                assert known == message.text, "a recorded result never changes"
        assert check(session.messages, open_tail=session.turn is not None) is None
        for effect in self.effects:
            if isinstance(effect, CallModel):
                assert check(session.messages) is None, "invariant 3"
                assert session.turn is None
                assert not session.held
            if isinstance(effect, RunCall):
                assert effect.call.id not in self.recorded, "a recorded result is never made again"
                assert effect.call in session.pending

    # What may happen

    def send(self, text: str | None = None) -> None:
        """An input, or with None just going on."""
        if self.session.awaiting:
            return
        self.numbers += 1
        admission = admit(
            self.session,
            [user(text)] if text else [],
            input_id=None,
            fresh_id=f"i{self.numbers}",
            now="2026-01-01T00:00:00.000Z",
            agent=self.agent,
            created=r.Created("agent"),
        )
        if admission.records:
            self.aborted = False
            self.tell(*admission.records)

    def answer(self, *names: str, arguments: str = "{}", finish_reason: str = "") -> None:
        """The model answers: with text, or with calls of these names."""
        calls = []
        for name in names:
            self.numbers += 1
            calls.append(ToolCall(f"c{self.numbers}", name, arguments))
        self.calling = False
        message = Message(role="assistant", content="" if calls else "done", tool_calls=tuple(calls))
        reason = finish_reason or ("tool_calls" if calls else "stop")
        self.tell(r.Turn(message, finish_reason=reason, model="m", usage=CallUsage(10, 5)))

    def finish(self, call_id: str) -> None:
        """A running call ends."""
        self.in_flight.pop(call_id)
        self.tell(r.ToolFinished(call_id, json.dumps(f"{call_id}:{self.starts[call_id]}")))

    def ask(self, call_id: str) -> None:
        """A running call finds that it needs a person."""
        self.in_flight.pop(call_id)
        self.tell(r.ToolAsked(call_id, "question", Question("Which?"), {}))

    def decide(self, *, approved: bool) -> None:
        """A person decides what waits."""
        wait = self.session.wait
        assert wait is not None
        self.tell(*answer_records(self.session, ApprovalDecision(id=wait.id, approved=approved), NOW))

    def crash(self, text: str | None = None) -> None:
        """The process dies; the next one reads the log and goes on, perhaps with a further message."""
        self.forget()
        self.epoch += 1
        self.f = Accumulator(fold(self.log))
        self.send(text)

    def leave(self) -> None:
        """Somebody leaves an input for later."""
        self.numbers += 1
        self.tell(r.InputReceived(f"i{self.numbers}", (user(f"later {self.numbers}"),)))

    def abort(self) -> None:
        self.aborted = True
        self.tell()
        self.calling = False

    def choices(self) -> list[Any]:
        """What may happen now, as functions."""
        session, can = self.session, [self.crash]
        call_model = any(isinstance(effect, CallModel) for effect in self.effects)
        consults = [effect for effect in self.effects if isinstance(effect, ConsultTool)]
        resting = not (self.in_flight or call_model or consults)
        if call_model:
            can += [lambda: self.answer(), *[lambda name=name: self.answer(name) for name in NAMES]]
            can += [lambda: self.answer("plain", "gated", "plain"), lambda: self.answer("plain", "never", "asked")]
            can += [lambda: self.answer("plain", arguments="{no"), lambda: self.answer("plain", finish_reason="length")]
        can += [lambda call_id=call_id: self.finish(call_id) for call_id in self.in_flight]
        for effect in consults:
            can += [lambda e=effect, a=a: self.consult(e, a) for a in ("approve", "ask", "deny", "error")]
        if session.wait is not None and resting:
            can += [lambda: self.decide(approved=True), lambda: self.decide(approved=False)]
        if resting and not session.awaiting:
            can += [lambda: self.send("go"), lambda: self.send(f"n{self.numbers}"), lambda: self.send(None)]
        if session.exists:
            can += [lambda: self.crash(f"m{self.numbers}"), self.leave]
        if session.exists and not resting:
            can.append(self.abort)
        return can

    def consult(self, effect: ConsultTool, answer: Any) -> None:
        self.consulted[effect.call.id] = Consulted(answer)
        self.tell()

    def step(self, number: int) -> None:
        can = self.choices()
        can[number % len(can)]()

    def play(self, script: Sequence[int]) -> World:
        """Begins with an input and does what the script says."""
        self.send("go")
        for number in script:
            self.step(number)
        return self

    def to_the_end(self) -> None:
        """Everything that runs ends, everything that waits is approved, the model stops."""
        for _ in range(60):
            session = self.session
            if self.in_flight:
                self.finish(next(iter(self.in_flight)))
            elif session.wait is not None:
                self.decide(approved=True)
            elif any(isinstance(effect, ConsultTool) for effect in self.effects):
                self.consult(next(e for e in self.effects if isinstance(e, ConsultTool)), "approve")
            elif any(isinstance(effect, CallModel) for effect in self.effects):
                self.answer()
            elif not session.ended:
                self.send(None)
            else:
                return
        raise AssertionError("it never came to its end")

    def reread(self) -> list[r.Batch]:
        """The log as another process reads it, through bytes."""
        batches = [decode_line(encode_line(batch)[:-1]) for batch in self.log]
        assert None not in batches
        return batches

    @classmethod
    def of_state(cls, state: Any, agent: AgentFacts | None = None) -> World:
        """The world of a fork: a log whose first record holds the state."""
        world = cls(agent)
        born = r.Batch(1, 1, NOW, (r.Claimed("host-1"), r.Forked("parent", 1, state.step, state), r.Mark(state.step)))
        world.claimed = True
        world.log.append(born)
        world.f = Accumulator(fold([born]))
        world.recorded = {m.tool_call_id: m.text for m in session_from(state).messages if m.role == "tool"}
        world.numbers = 1000
        return world


def words(messages: Sequence[Message]) -> list[str]:
    """A transcript in words: ``user:go``, ``calls:c1+c2``, ``result:c1``, ``assistant:done``."""
    found = []
    for message in messages:
        if message.role == "tool":
            found.append(f"result:{message.tool_call_id}")
        elif message.tool_calls:
            found.append(f"calls:{'+'.join(call.id for call in message.tool_calls)}")
        else:
            found.append(f"{message.role}:{message.text}")
    return found


@pytest.fixture(scope="session")
def world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def make_facts() -> Any:
    return facts


@pytest.fixture(scope="session")
def gated_tool() -> type[Tool]:
    return Tool


@pytest.fixture(scope="session")
def in_words() -> Any:
    return words


@pytest.fixture(scope="session")
def through_json() -> Any:
    """A value as it comes back from its JSON."""
    return lambda value: msgspec.json.decode(msgspec.json.encode(value), type=type(value))
