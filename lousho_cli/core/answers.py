"""A model's answer made fit to be stored: of the kinds its fields promise, with ids that tell its calls apart.

A provider is somebody's code and somebody's server. What can be understood is taken, a field that
can not is left out, and an answer without a usable message is a failed call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from lousho_cli.domain.messages import Message, ToolCall, is_sound, remade
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ProviderError

_MOST_TOKENS = 2**53


class AnswerLike(Protocol):
    """What a provider gave (see ``ports.provider.Answer``), not yet looked at."""

    @property
    def message(self) -> Any: ...
    @property
    def finish_reason(self) -> Any: ...
    @property
    def usage(self) -> Any: ...
    @property
    def model(self) -> Any: ...


class Answered(msgspec.Struct, frozen=True):
    """An answer whose fields are what they say; a call may still be without an id (see ``storable``)."""

    message: Message
    finish_reason: str
    usage: CallUsage | None = None
    model: str = ""


def answer_from(answer: AnswerLike) -> Answered:
    """Reads what a provider gave.

    A content of None is no text, a call id is made text, a number that is no whole number of tokens counts
    as not reported, and a missing finish reason follows from whether there are calls.

    Raises:
        ProviderError: category server, retryable: its message can not be used.
    """
    message = _message_from(answer.message)
    reason = answer.finish_reason
    if not isinstance(reason, str) or not reason:
        reason = "tool_calls" if message.tool_calls else "stop"
    model = answer.model
    return Answered(message, text_of(reason), counted(answer.usage), text_of(model) if isinstance(model, str) else "")


def _message_from(given: Any) -> Message:
    if not isinstance(given, Message):
        raise _unusable(f"its message is of the kind {type(given).__name__}")
    if is_sound(given) and given.role == "assistant":
        return given
    try:
        message = remade(given, tool_calls=[_with_id(call) for call in given.tool_calls or ()])
    except (msgspec.ValidationError, TypeError, ValueError, KeyError) as error:
        raise _unusable(str(error)) from error
    if message.role != "assistant":
        raise _unusable(f"it has the role {message.role}")
    return message


def _unusable(why: str) -> ProviderError:
    return ProviderError(f"the provider's answer can not be used: {why}", category="server", retryable=True)


def _with_id(call: Any) -> Any:
    """A call whose id is text; '' where it is nothing an id can be."""
    if not isinstance(call, ToolCall) or isinstance(call.id, str):
        return call
    is_number = isinstance(call.id, int) and not isinstance(call.id, bool)
    return ToolCall(text_of(call.id) if is_number else "", call.name, call.arguments)


def counted(given: Any) -> CallUsage | None:
    """What a call used, as a provider or a price says it, without what is no such number; None where it is no usage."""
    if given is None or not isinstance(given, CallUsage):
        return None
    return CallUsage(
        _count(given.input_tokens),
        _count(given.output_tokens),
        _count(given.cached_input_tokens),
        _count(given.reasoning_tokens),
        _cost(given.cost_usd),
        _count(given.cache_write_tokens),
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def _cost(value: Any) -> float | None:
    if value is None or not isinstance(value, (int, float, Decimal)) or isinstance(value, bool):
        return None
    finite = isinstance(value, int) or math.isfinite(value)  # a whole number past all floats can not even be asked
    return float(value) if finite and 0 <= value < _MOST_TOKENS else None


def storable(message: Message, used: Collection[str], turn: int) -> Message:
    """The answer with call ids no other call of the session has; itself when they are so already.

    Idempotency keys, approvals and patches name a call by its id alone, so one that an earlier turn used
    gets the number of this one: ``<id>_<turn>``, then ``<id>_<turn>_2`` and on while that is taken, too.
    An id that the answer itself repeats is made another in the same way, an empty one is ``call_<turn>``.

    Args:
        used: the ids of all calls of the session so far.
        turn: the number of this turn, from 1.
    """
    if not message.tool_calls:
        return message
    kept = {call.id for call in message.tool_calls}
    if len(kept) == len(message.tool_calls) and "" not in kept and kept.isdisjoint(used):
        return message
    taken: set[str] = set()
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        call_id = call.id
        if not call_id or call_id in used or call_id in taken:
            call_id = _free(f"{call_id or 'call'}_{turn}", lambda name: name in used or name in taken or name in kept)
            call = ToolCall(call_id, call.name, call.arguments)
        taken.add(call_id)
        calls.append(call)
    return msgspec.structs.replace(message, tool_calls=tuple(calls))


def _free(stem: str, is_taken: Callable[[str], bool]) -> str:
    name, number = stem, 1
    while is_taken(name):
        number += 1
        name = f"{stem}_{number}"
    return name
