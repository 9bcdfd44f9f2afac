"""What a recorded session tells as a case: what was said to it, what the model answered, what its tools gave. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.core.alignment import changes
from lousho_cli.core.trajectory import Step, steps_of
from lousho_cli.domain.cut_answers import joined
from lousho_cli.domain.messages import Message, TextPart
from lousho_cli.domain.usage import CallUsage, StepUsage
from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.redact import Redact, redacted
from lousho_cli.ports.provider import Answer

NO_CASE = "LOUSHO_EVAL_NO_CASE"


class Story(msgspec.Struct, frozen=True):
    """A session, or the beginning of one.

    inputs: what was said, each answered to its end, the last perhaps not. answers: the model's, in order.
    results: what each call gave, by the number of its answer and its id; failed: those of them that are errors.
    stop_after: so many answers, where what comes behind them is not part of it; None where it ends by itself.
    """

    inputs: tuple[str, ...]
    answers: tuple[Answer, ...]
    results: Mapping[tuple[int, str], Any]
    failed: frozenset[tuple[int, str]] = frozenset()
    stop_after: int | None = None

    @property
    def calls(self) -> tuple[str, ...]:
        """The tools that were called, in order."""
        return tuple(call.name for answer in self.answers for call in answer.message.tool_calls)


def story_of(messages: Sequence[Message], used: Sequence[StepUsage], finish_reason: str, redact: Redact) -> Story:
    """Reads a transcript.

    Args:
        used: what the newest answers used, each a call of the model; older ones may be missing.
        finish_reason: how the last answer ended.
        redact: takes secrets out, as it is going to stand in files.

    Raises:
        ConfigurationError: it holds what can not be told as a case; the detail says what.
    """
    told = _with_ids_of_their_own([_without_secrets(message, redact) for message in joined(messages)])
    inputs: list[str] = []
    answers: list[Message] = []
    results: dict[tuple[int, str], Any] = {}
    failed: set[tuple[int, str]] = set()
    before = ""
    for message in told:
        if message.role == "user":
            inputs.append(_input(message, before))
        elif message.role == "assistant":
            answers.append(message)
        elif message.role == "tool":
            key = (len(answers) - 1, message.tool_call_id or "")
            if key not in results and message.is_error:
                failed.add(key)
            results.setdefault(key, _value(message.text))
        elif inputs:
            raise _no_case("its transcript holds a system message behind its beginning", "A case has its agent's prompt alone.")
        before = "call" if message.role == "assistant" and message.tool_calls else message.role
    _check_end(inputs, answers, results, before)
    ended = not answers[-1].tool_calls
    last = finish_reason if ended and finish_reason in ("length", "content_filter", "other") else "stop"
    usages = _usages(used, len(answers))
    return Story(
        inputs=tuple(inputs),
        answers=tuple(_answer(one, usages[n], last if n == len(answers) - 1 else "stop") for n, one in enumerate(answers)),
        results=results,
        failed=frozenset(failed),
        stop_after=None if ended else len(answers),
    )


def _with_ids_of_their_own(messages: Sequence[Message]) -> list[Message]:
    """No call has the id of an earlier one, which a run of today would rename."""
    taken = {call.id for message in messages for call in message.tool_calls}
    used: set[str] = set()
    now: dict[str, str] = {}
    told = []
    for message in messages:
        if message.role == "assistant":
            now = {call.id: _free(call.id, used, taken) for call in message.tool_calls}
            used |= set(now.values())
            calls = tuple(msgspec.structs.replace(call, id=now[call.id]) for call in message.tool_calls)
            message = msgspec.structs.replace(message, tool_calls=calls)
        elif message.role == "tool" and message.tool_call_id in now:
            message = msgspec.structs.replace(message, tool_call_id=now[message.tool_call_id])
        told.append(message)
    return told


def _free(call_id: str, used: set[str], taken: set[str]) -> str:
    if call_id not in used:
        return call_id
    names = (f"{call_id}_{number}" for number in range(2, len(used) + len(taken) + 3))
    return next(name for name in names if name not in used and name not in taken)


def _without_secrets(message: Message, redact: Redact) -> Message:
    """Signed reasoning and the wire's own form of an answer are left out: changed by a letter they would be refused."""
    bare = msgspec.structs.replace(message, metadata=None, native=None, reasoning=())
    return msgspec.convert(redacted(msgspec.to_builtins(bare), redact), Message)


def _input(message: Message, before: str) -> str:
    if before == "user":
        raise _no_case(
            "two of its inputs stand behind each other, with no answer between them", "Take a step of an earlier run: SESSION@R/N."
        )
    if before in ("tool", "call"):
        raise _no_case("an input joined its run while that was going on", "Take a step before it: SESSION@N.")
    parts = () if isinstance(message.content, str) else message.content
    if not all(isinstance(part, TextPart) for part in parts):
        raise _no_case("an input of it holds more than text", "The inputs of a case are texts.")
    return message.text


def _check_end(inputs: Sequence[str], answers: Sequence[Message], results: Mapping[tuple[int, str], Any], last: str) -> None:
    hint = "See its steps with lousho history, and take one that has its results: SESSION@N."
    if not inputs or not answers:
        raise _no_case("no model has answered in it yet", hint)
    if last == "user":
        raise _no_case("its last input has no answer yet", hint)
    for number, answer in enumerate(answers):
        for call in answer.tool_calls:
            if (number, call.id) not in results:
                raise _no_case(f"its call {call.id} of {call.name} has no result yet", hint)


def _usages(used: Sequence[StepUsage], count: int) -> list[StepUsage | None]:
    known: list[StepUsage | None] = list(used[-count:])
    return [None] * (count - len(known)) + known


def _answer(message: Message, used: StepUsage | None, finish_reason: str) -> Answer:
    usage = None
    if used is not None and not used.estimated:
        usage = CallUsage(**{name: getattr(used, name) for name in CallUsage.__struct_fields__})
    return Answer(message, "tool_calls" if message.tool_calls else finish_reason, usage, used.model if used is not None else "")


def _value(content: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def check_retold(messages: Sequence[Message], made: Sequence[Message], redact: Redact) -> None:
    """Makes sure that the agent of today does with these answers what the session did.

    Raises:
        ConfigurationError: it does not; the detail names the first difference.
    """
    wanted, given = (steps_of(_without_secrets(message, redact) for message in joined(side)) for side in (messages, made))
    found = [change for change in changes(_plain(wanted), _plain(given)) if change.field != "text" or change.kind != "changed"]
    if found:
        raise _no_case(
            f"the agent of today does not do what it did: {found[0].describe(120)}", "Fork it with the agent of today, and add that."
        )


def _plain(steps: Sequence[Step]) -> tuple[Step, ...]:
    """A result that is no JSON became a JSON text on its way, which says the same."""
    return tuple(
        Step(step.text, tuple(msgspec.structs.replace(call, result=_spelled(call.result)) for call in step.tools)) for step in steps
    )


def _spelled(result: str | None) -> str | None:
    return None if result is None else json.dumps(_value(result), ensure_ascii=False)


def _no_case(why: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"this can not be made a case: {why}", field="session", code=NO_CASE, hint=hint)
