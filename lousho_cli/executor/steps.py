"""The named steps of one call of a run: what they gave stands in its log, and what they ask a person does, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from lousho_cli.core.appending import digest_of_records, own_records, said_by, wrong_with
from lousho_cli.core.permissions import ASKS_NOBODY
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval, Question, digest_of
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.session import Ask
from lousho_cli.domain.times import later, ms_between
from lousho_cli.errors import AbortedError, ConfigurationError, NoAnswerError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.asks import Asks
from lousho_cli.executor.plain_store import PlainStore
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.steps import Steps, performed

Keep = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Begins a write that goes on even where the tool is given up, and is waited for by who drives."""


class CallSteps(Steps):
    """The steps of one call that runs.

    Args:
        args: the call's arguments, shown beside what it asks.
        asks_nobody: the run is one in which no person is asked.
    """

    # What most calls leave as it is.
    _used: frozenset[str] = frozenset()
    _staged: tuple[dict[str, Any], ...] = ()
    _said: tuple[Message, ...] = ()
    _over = False

    def __init__(self, log: DrivenLog, call: ToolCall, args: Any, signal: AbortSignal, keep: Keep, asks_nobody: bool) -> None:
        self._log, self._call, self._args, self._signal = log, call, args, signal
        self._keep, self._asks_nobody = keep, asks_nobody

    def idempotency_key(self, name: str) -> str:
        return f"{self._log.id}:{'/'.join(self._place)}:{name}"

    async def do(self, name: str, function: Callable[..., Any]) -> Any:
        self._take(name)
        turn = self._log.session.turn
        done = turn.steps.get(self._call.id, {}) if turn is not None else {}
        if name in done:
            return plain(done[name])[0]  # a copy: what the tool does with it is not in the log
        self._must_run()
        value, altered = plain(await performed(function, self.idempotency_key(name)))
        if altered:
            raise ConfigurationError(
                f"step {name} gave what JSON can not hold, so it was not kept", field="step", hint="Give plain data, such as an id."
            )
        await self._write(self._log.record(r.StepDone(self._call.id, name, value)))
        return plain(value)[0]

    async def ask(
        self,
        name: str,
        message: str,
        *,
        schema: Mapping[str, Any] | None = None,
        options: Sequence[str] = (),
        secret: bool = False,
        expires_in_ms: int | None = None,
    ) -> Any:
        self._take(name)
        question = _question(message, schema, options, secret)
        if self._asks_nobody:
            raise NoAnswerError(ASKS_NOBODY)
        if isinstance(self._log.store, PlainStore):
            raise ConfigurationError(
                "nobody could answer: this run is in no log that others see", field="step", hint="Use a log store, such as FileStore."
            )
        while True:
            ask = self._asked(name)
            held = self._asks.take(self._place, name)
            if held is not None:
                return held
            if ask is None or (ask.answer is not None and ask.answer.hidden):
                ask = await self._open(name, question, expires_in_ms)
            if ask.answer is not None:
                await self._lead.flush()
                return _said(ask.answer)
            await self._answered(ask.approval)

    def stage(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._must_run()
        for record in records:
            wrong = wrong_with(record) if isinstance(record, Mapping) else "it is no object"
            if wrong:
                raise ConfigurationError(f"a record can not be kept: {wrong}", field="records")
        kept = tuple(plain(dict(record))[0] for record in records)
        try:
            said = said_by(kept, self._lead.project)
        except Exception as error:
            raise ConfigurationError(f"what a record says to the model failed: {error}", field="records") from error
        self._staged += kept
        self._said += said

    def end(self) -> Sequence[r.Record]:
        """The call is over: nothing more can be kept. Gives the records that go with its result, and what they say to the model."""
        self._over = True
        if not self._staged:
            return ()
        kept = own_records(self._staged)
        if not self._said:
            return kept
        return (*kept, r.Appended(f"append.{'/'.join(self._place)}", self._said, None, digest_of_records(self._staged)))

    @property
    def _lead(self) -> SessionLog:
        return self._log if isinstance(self._log, SessionLog) else self._log.lead

    @property
    def _asks(self) -> Asks:
        return self._lead.asks

    @property
    def _place(self) -> tuple[str, ...]:
        return (*self._log.calls, self._call.id)

    def _take(self, name: str) -> None:
        if not isinstance(name, str) or not name or text_of(name) != name:
            raise ConfigurationError(f"{name!r:.60} can not name a step", field="name")
        if name in self._used:
            raise ConfigurationError(f"this call has had a step {name} before", field="name", hint="Name each step of a call apart.")
        self._used |= {name}

    def _must_run(self) -> None:
        if self._over:
            raise AbortedError(f"call {self._call.id} is over: nothing of it can be kept any more")
        self._log.must_be_ours()

    async def _write(self, writing: Coroutine[Any, Any, None]) -> None:
        if self._over:
            writing.close()
            self._must_run()
        await asyncio.shield(self._keep(writing))

    def _asked(self, name: str) -> Ask | None:
        asks = self._lead.session.asks.values()
        return next((ask for ask in asks if ask.approval.place == self._place and ask.approval.step == name), None)

    async def _open(self, name: str, question: Question, expires_in_ms: int | None) -> Ask:
        clock, session = self._log.clock, self._log.session
        now = clock.now()
        approval = PendingApproval(
            id=clock.new_id(),
            tool_call_id=self._call.id,
            tool_name=self._call.name,
            args=plain(self._args)[0],
            digest=digest_of(self._args),
            created_at=now,
            expires_at=None if expires_in_ms is None else later(now, expires_in_ms),
            kind="secret" if question.secret else "question",
            question=question,
            agent_id=session.run.agent_id,
            path=self._names(),
            calls=self._log.calls,
            step=name,
        )
        await self._write(self._lead.record(r.AskOpened(approval)))
        return Ask(approval)

    def _names(self) -> tuple[str, ...]:
        """The names of the sub-agents' calls on the way to this one."""
        names, session = [], self._lead.session
        for call_id in self._log.calls:
            calls = session.turn.calls if session.turn is not None else ()
            names.append(next((call.name for call in calls if call.id == call_id), call_id))
            session = session.children[call_id]
        return tuple(names)

    async def _answered(self, ask: PendingApproval) -> None:
        """Waits until the log has the answer; says itself that the time is up.

        Raises:
            AbortedError: the run stops.
        """
        answer = self._asks.expect(ask.id)
        known = self._lead.session.asks.get(ask.id)
        if known is None or known.answer is not None:
            return  # it came while the question was written
        stops = asyncio.ensure_future(self._signal.wait())
        clock = self._log.clock
        left = None if ask.expires_at is None else max(ms_between(clock.now(), ask.expires_at), 0)
        times = [] if left is None else [asyncio.ensure_future(clock.sleep(left / 1000))]
        try:
            await asyncio.wait([answer, stops, *times], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (stops, *times):
                one.cancel()
        if answer.done():
            return
        if self._signal.aborted:
            raise AbortedError("the run stops")
        await self._write(self._lead.record(r.AskAnswered(ask.id, approved=False, expired=True)))


def _question(message: str, schema: Mapping[str, Any] | None, options: Sequence[str], secret: bool) -> Question:
    if schema is not None:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for

        try:
            validator_for(schema, default=Draft202012Validator).check_schema(dict(schema))
        except SchemaError as error:
            raise ConfigurationError(f"this is no JSON Schema: {error.message}", field="schema") from error
    choices, described = tuple(map(text_of, options)), None if schema is None else plain(schema)[0]
    return Question(text_of(message), choices, allow_free_text=not choices, secret=secret, schema=described)


def _said(answer: r.AskAnswered) -> Any:
    """The value of an answer; raises where it is none."""
    if answer.expired:
        raise NoAnswerError("Nobody answered in time.", expired=True)
    if not answer.approved:
        why = f": {answer.note}" if answer.note else "."
        raise NoAnswerError(f"The person did not want to answer{why}", note=answer.note)
    return plain(answer.value)[0]
