"""A run as steps: one an assistant message, its text, its calls and their results.

What a comparison, an eval and a person look at. ``Trajectory`` reads it out of whatever
holds a transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.core.values import parse
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.cut_answers import joined
from lousho_cli.domain.messages import Message, MessageLike, message_from
from lousho_cli.errors import ConfigurationError

Comparable = Checkpoint | Mapping[str, Any] | Sequence[MessageLike]
"""What can be compared: a checkpoint, the dictionary of one, or a list of messages."""


class StepCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a step. ``args`` is key-sorted JSON text, the model's own text where it is none;
    ``result`` is None, and left out when written, while the call is unanswered."""

    id: str
    name: str
    args: str
    result: str | None = None


class Step(msgspec.Struct, frozen=True):
    """One answer of the model; ``text`` is '' when it said nothing beside its calls."""

    text: str
    tools: tuple[StepCall, ...]


class Trajectory(msgspec.Struct, frozen=True):
    """The steps of a run, and what is known beside them; None is unknown. ``roles`` are those of its messages, () where unknown."""

    steps: tuple[Step, ...]
    finish_reason: str | None = None
    total_tokens: int | None = None
    roles: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[StepCall, ...]:
        """Every call, in order."""
        return tuple(call for step in self.steps for call in step.tools)


def trajectory_of(value: Comparable) -> Trajectory:
    """Reads the trajectory of a checkpoint, the dictionary of one (in either spelling), or a list of messages.

    Raises:
        ConfigurationError: it is none of these.
    """
    if isinstance(value, Checkpoint):
        usage = value.usage
        tokens = usage.total_tokens if usage.model_calls or usage.total_tokens else None
        return Trajectory(steps_of(value.messages), value.finish_reason, tokens, _roles(value.messages))
    if isinstance(value, Mapping):
        return _of_dictionary(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        read = [message_from(message) for message in value]
        return Trajectory(steps_of(read), roles=_roles(read))
    raise _not_comparable()


def _of_dictionary(value: Mapping[str, Any]) -> Trajectory:
    messages = value.get("messages", ())  # left out when written from a checkpoint that has none
    usage = value.get("usage") or {}
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence) or not isinstance(usage, Mapping) or "role" in value:
        raise _not_comparable()
    reason = value.get("finish_reason", value.get("finishReason", "stop"))  # left out when it is the default
    tokens = usage.get("total_tokens", usage.get("totalTokens"))
    read = [message_from(message) for message in messages]
    return Trajectory(
        steps_of(read),
        reason if isinstance(reason, str) else None,
        tokens if isinstance(tokens, int) else None,
        _roles(read),
    )


def _roles(messages: Iterable[Message]) -> tuple[str, ...]:
    return tuple(message.role for message in joined(messages))


def _not_comparable() -> ConfigurationError:
    return ConfigurationError(
        "only a checkpoint, the dictionary of one, or a list of messages can be compared",
        field="compare",
        hint="Load a checkpoint, or pass the messages of a result.",
    )


def steps_of(messages: Iterable[Message]) -> tuple[Step, ...]:
    """The steps of a transcript. A result belongs to the newest turn before it that asked for its id; the first counts."""
    answers: list[Message] = []
    results: dict[tuple[int, str], str] = {}
    asked: dict[str, int] = {}
    for message in joined(messages):
        if message.role == "assistant":
            asked |= {call.id: len(answers) for call in message.tool_calls}
            answers.append(message)
        elif message.role == "tool" and message.tool_call_id in asked:
            results.setdefault((asked[message.tool_call_id], message.tool_call_id), message.text)
    return tuple(
        Step(
            answer.text,
            tuple(StepCall(c.id, c.name, parse(c.arguments).text, results.get((at, c.id))) for c in answer.tool_calls),
        )
        for at, answer in enumerate(answers)
    )
