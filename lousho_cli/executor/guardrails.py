"""Guardrails: a caller's own functions that look at input, calls and answers, and may stop the run.

    Guardrail("input", check)    before an input enters the run: nothing of the input reaches the model when it blocks
    Guardrail("tool", check)     before a call runs: the calls that have not run are not run
    Guardrail("output", check)   on an answer without calls, before it is recorded: it may also be rewritten

``check`` gives None to let it pass, {"block": reason}, or, of an answer, {"rewrite": text}; it may be async. A block
ends the run with the finish reason ``guardrail``; with ``on_block="throw"`` the run fails with a
``GuardrailTrippedError`` instead, and nothing of what was blocked is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import Session
from lousho_cli.domain.stops import GuardKind, Spent, Tripped
from lousho_cli.domain.texts import WITHHELD_ANSWER
from lousho_cli.errors import AbortedError, BudgetExceededError, ConfigurationError, GuardrailTrippedError, HookError, SDKError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.hooks import HookCall, ask, said
from lousho_cli.executor.interrupts import INTERRUPTED, unless_aborted

if TYPE_CHECKING:
    from lousho_cli.executor.sub_log import DrivenLog


class Guardrail(msgspec.Struct, frozen=True):
    """One guardrail. ``check`` gets a ``GuardedInput``, a ``HookCall`` or a ``GuardedOutput``."""

    kind: GuardKind
    check: Callable[..., Any]
    name: str = ""
    on_block: Literal["stop", "throw"] = "stop"


class GuardedInput(msgspec.Struct, frozen=True):
    """An input that is to enter a run; ``text`` is that of its user messages."""

    messages: tuple[Message, ...]
    text: str
    session_id: str | None = None


class GuardedOutput(msgspec.Struct, frozen=True):
    """The answer that would end a run."""

    message: Message
    text: str
    session_id: str | None = None


class Guards:
    """The guardrails of a run, by what they look at, in the order they were given."""

    def __init__(self, guardrails: Iterable[Guardrail] = ()) -> None:
        given = tuple(guardrails)
        self.input = tuple(one for one in given if one.kind == "input")
        self.tool = tuple(one for one in given if one.kind == "tool")
        self.output = tuple(one for one in given if one.kind == "output")


NO_GUARDS = Guards()


def guards_from(value: Any, field: str = "guardrails") -> Guards:
    """Reads the guardrails that a caller gave: ``Guardrail`` values, or dictionaries with their fields.

    Raises:
        ConfigurationError: ``field`` names the first thing wrong.
    """
    if value is None or value == ():
        return NO_GUARDS
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ConfigurationError(f"{field} is a {type(value).__name__}", field=field, hint="Use a list of guardrails.")
    return Guards(_guardrail(item, f"{field}.{number}") for number, item in enumerate(value))


def _guardrail(item: Any, path: str) -> Guardrail:
    fields = {name: getattr(item, name) for name in Guardrail.__struct_fields__} if isinstance(item, Guardrail) else item
    if not isinstance(fields, Mapping):
        raise ConfigurationError(f"{path} is a {type(item).__name__}", field=path, hint="Use a Guardrail, with kind and check.")
    unknown = [str(name) for name in fields if name not in Guardrail.__struct_fields__]
    if unknown:
        raise ConfigurationError(f"a guardrail has no {unknown[0]}", field=f"{path}.{unknown[0]}")
    for name, words in (("kind", get_args(GuardKind)), ("on_block", ("stop", "throw"))):
        if fields.get(name, words[0] if name == "on_block" else None) not in words:
            raise ConfigurationError(f"{path}.{name} is not one of {', '.join(words)}", field=f"{path}.{name}")
    check = fields.get("check")
    if not callable(check):
        raise ConfigurationError(f"{path}.check is no function", field=f"{path}.check")
    name = fields.get("name") or getattr(check, "__name__", None) or path
    return Guardrail(fields["kind"], check, text_of(name), fields.get("on_block", "stop"))


async def trips(guardrail: Guardrail, subject: Any, tool_name: str | None = None) -> Tripped | None:
    """Whether a guardrail that only blocks does so.

    Raises:
        GuardrailTrippedError: it does, and it is one that throws.
        HookError: it failed, or gave what can not be used.
    """
    answer = said(guardrail.name, await ask(guardrail.name, guardrail.check, subject), "block")
    return None if answer is None else _tripped(guardrail, answer[1], tool_name)


def _tripped(guardrail: Guardrail, reason: Any, tool_name: str | None = None) -> Tripped:
    tripped = Tripped(guardrail.name, guardrail.kind, text_of(reason), tool_name)
    if guardrail.on_block == "throw":
        raise GuardrailTrippedError(tripped.name, tripped.kind, tripped.reason, tool_name)
    return tripped


async def guard_call(guards: Guards, call: HookCall) -> Tripped | None:
    """The first guardrail that blocks a call. Raises as ``trips``."""
    for guardrail in guards.tool:
        tripped = await trips(guardrail, call, call.tool_name)
        if tripped is not None:
            return tripped
    return None


class Watch:
    """What guardrails said of the input and the answer of one run.

    tripped: the one that stopped it. refused: the inputs it refused; cleared: those that were let in while the run went on.
    """

    def __init__(self, guards: Guards, session_id: str | None) -> None:
        self._guards, self._session_id = guards, session_id
        self.begin()

    def begin(self) -> None:
        """A run begins, or goes on."""
        self.tripped: Tripped | None = None
        self.refused: tuple[str, ...] = ()
        self.cleared: frozenset[str] = frozenset()

    async def entering(self, happened: Sequence[r.Record], session: Session) -> Sequence[r.Record]:
        """``happened`` without the inputs that a guardrail refuses: those are received, and never enter the transcript."""
        if not self._guards.input:
            return happened
        came = {record.id: record.messages for record in happened if isinstance(record, r.InputReceived)}
        let_in = []
        for record in happened:
            if isinstance(record, r.InputApplied):
                messages = came.get(record.id) or (session.inputs[record.id].messages if record.id in session.inputs else ())
                if not await self.lets_in(record.id, messages):
                    continue
            let_in.append(record)
        return let_in

    async def lets_in(self, input_id: str, messages: Sequence[Message]) -> bool:
        """Whether an input may enter the run. Raises as ``trips``."""
        text = "\n".join(message.text for message in messages if message.role == "user")
        subject = GuardedInput(tuple(messages), text, self._session_id)
        for guardrail in self._guards.input:
            tripped = await trips(guardrail, subject)
            if tripped is not None:
                self.tripped, self.refused = tripped, (*self.refused, input_id)
                return False
        self.cleared |= {input_id}
        return True

    async def answered(self, message: Message) -> Message:
        """The answer as it is recorded: itself, rewritten, or withheld. Raises as ``trips``."""
        if not self._guards.output or message.tool_calls:
            return message
        for guardrail in self._guards.output:
            subject = GuardedOutput(message, message.text, self._session_id)
            answer = said(guardrail.name, await ask(guardrail.name, guardrail.check, subject), "block", "rewrite")
            if answer is None:
                continue
            key, value = answer
            if key == "block":
                self.tripped = _tripped(guardrail, value)
                return _with(message, WITHHELD_ANSWER, "withheldBy", guardrail.name)
            if not isinstance(value, str):
                raise HookError(guardrail.name, f"rewrote an answer as {type(value).__name__}, not text")
            message = _with(message, text_of(value), "rewrittenBy", guardrail.name)
        return message


def _with(message: Message, text: str, why: str, name: str) -> Message:
    """A message that says something else; what it was thought with would no longer fit it."""
    return msgspec.structs.replace(message, content=text, reasoning=(), native=None, metadata={**(message.metadata or {}), why: name})


async def enter(watch: Watch, log: DrivenLog, happened: Sequence[r.Record], signal: AbortSignal) -> Sequence[r.Record]:
    """What a run begins or goes on with, once guardrails have looked at the input in it.

    Raises:
        HookError, GuardrailTrippedError: one failed, or throws. Input that others left is then settled as failed, so that it
            is not tried for ever; the caller's own was never recorded.
        AbortedError: the signal fired while one was waited for; nothing was recorded, and what others left waits on.
    """
    watch.begin()
    try:
        entering = await unless_aborted(signal, watch.entering(happened, log.session))
        if entering != INTERRUPTED:
            return entering
    except SDKError as error:
        waiting = set(log.session.waiting)
        left = [record.id for record in happened if isinstance(record, r.InputApplied) and record.id in waiting]
        if left:
            await log.record(*(r.InputSettled(input_id, "failed", error.detail, error.code) for input_id in left))
        raise
    raise AbortedError("the run was aborted before its input was looked at", hint="Nothing was written; run it again.")


def thrown(stop: Tripped | Spent) -> SDKError:
    """The error for a run that was stopped."""
    if isinstance(stop, Spent):
        return BudgetExceededError(stop.limit, stop.value, stop.max)
    return GuardrailTrippedError(stop.name, stop.kind, stop.reason, stop.tool_name)
